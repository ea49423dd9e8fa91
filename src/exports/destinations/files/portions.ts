import { fieldBytes } from "../../formats/lines.ts";
import type { Column, Row } from "../../query/rows.ts";
import type { FilesConfig } from "./names.ts";

/** Bytes that are encoded at once: V8 collects texts from 128 KiB on late. */
const PORTION_BYTES = 120 * 2 ** 10;

const csvBytesOf = (row: Row) =>
	row.reduce<number>((sum, value) => sum + (typeof value === "string" ? fieldBytes(value) : 8), 0);

/**
 * Divides rows into portions of about `PORTION_BYTES`, and removes them from the list.
 * @param sizes the size of each row's values as text, in bytes
 * @returns `bytes`: the approximate size of the rows as text
 */
export function* portions(config: FilesConfig, columns: Column[], rows: Row[], sizes: number[]) {
	const sizesInFile = config.file_format === "CSV" ? rows.map(csvBytesOf) : sizes;
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
