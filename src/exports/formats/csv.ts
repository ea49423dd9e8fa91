import { record } from "../../lib/csv.ts";
import type { Column } from "../query/rows.ts";
import type { Encoder } from "./format.ts";
import { type LineCompression, lines } from "./lines.ts";

/** Returns the maximum size of a text as a field, with the comma after it, in bytes. */
export const fieldBytes = (text: string) => Buffer.byteLength(text) + text.split('"').length + 2;

/**
 * Comma-separated values (RFC 4180): a header, then one record for each row. Null is an empty
 * field, the empty text is `""`, and JSON is its text.
 * @param offset how many bytes the file already has, including its header
 */
export function csv(columns: Column[], compression: LineCompression, offset: number): Encoder {
	let header = offset > 0 ? "" : record(columns.map(({ name }) => name));
	return lines(compression, (rows) => {
		const text = header + rows.map(record).join("");
		header = "";
		return text;
	});
}
