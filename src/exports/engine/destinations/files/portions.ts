import { fieldBytes } from "../../formats/csv.ts";
import type { Column, Row } from "../../rows.ts";
import type { FilesConfig } from "./names.ts";

/**
 * The approximate size of rows that are encoded at once, in bytes. V8 stores texts of 128 KiB and
 * more separately and collects them late, so larger portions would need more memory.
 */
const PORTION_BYTES = 120 * 2 ** 10;

/** Returns the size of a row's values in a CSV file, in bytes. */
const csvBytesOf = (row: Row) =>
	row.reduce<number>((sum, value) => sum + (typeof value === "string" ? fieldBytes(value) : 8), 0);

/**
 * Divides rows into portions of about `PORTION_BYTES`, and removes them from the list.
 * @param sizes the size of each row's values as text, in bytes
 * @returns `bytes`: the approximate size of the rows as text
 */
export function* portions(
	{ file_format }: FilesConfig,
	columns: Column[],
	rows: Row[],
	sizes: number[],
) {
	const sizesInFile = file_format === "CSV" ? rows.map(csvBytesOf) : sizes;
	// The size of the names, quotes and punctuation of a row in JSON.
	const frame = columns.reduce((sum, { name }) => sum + name.length + 6, 2);
	let count = 0;
	let bytes = 0;
	for (const size of sizesInFile) {
		count += 1;
		bytes += frame + size;
		if (bytes < PORTION_BYTES && count < rows.length) continue;
		yield { rows: rows.splice(0, count), bytes };
		count = 0;
		bytes = 0;
	}
}
