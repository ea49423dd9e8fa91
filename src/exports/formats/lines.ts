import { buffer } from "node:stream/consumers";
import { constants, createZstdCompress, gzipSync } from "node:zlib";
import { record, withoutFormula } from "../../lib/csv.ts";
import { jsonOf } from "../../lib/json.ts";
import type { Column, Row } from "../query/rows.ts";
import type { Encoder } from "./format.ts";

type LineCompression = "gzip" | "zstd" | null;

/**
 * Compresses text to a zstd frame with a checksum. workerd's zstd fails if the output doesn't fit
 * into its buffer (https://github.com/cloudflare/workerd/issues/6769), so the buffer is larger than
 * zstd's maximum output for this input.
 */
const zstd = (text: string) => {
	const bytes = Buffer.from(text);
	const chunkSize = bytes.length + (bytes.length >> 7) + 1024;
	const params = { [constants.ZSTD_c_checksumFlag]: 1 };
	return buffer(createZstdCompress({ chunkSize, params }).end(bytes));
};

const compressors = { gzip: (text: string) => gzipSync(text), zstd };

/**
 * Encodes text files. A compressed file is a sequence of gzip members (RFC 1952, 2.2) or zstd
 * frames (RFC 8878, 3), one for each call of `write`. Together they decompress to one text.
 */
export const lines = (compression: LineCompression, toText: (rows: Row[]) => string): Encoder => {
	const encoder = new TextEncoder();
	const encode = compression ? compressors[compression] : (text: string) => encoder.encode(text);
	return {
		write: async (rows) => [await encode(toText(rows))],
		pending: 0,
		flush: () => [],
		finish: () => [],
		state: () => "",
	};
};

/** Returns the maximum size of a text as a field, with the comma after it, in bytes. */
export const fieldBytes = (text: string) => Buffer.byteLength(text) + text.split('"').length + 2;

/** A number as JSON writes it, which is no formula. */
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

const harmless = (value: Row[number]) =>
	typeof value === "string" && NUMBER.test(value) ? value : withoutFormula(value);

/**
 * Comma-separated values (RFC 4180): a header, then one record for each row. Null is an empty
 * field, the empty text is `""`, and JSON is its text.
 * @param offset how many bytes the file already has, including its header
 * @param isForSpreadsheets whether formulas are made harmless, and Excel has to recognise UTF-8
 */
export function csv(
	columns: Column[],
	compression: LineCompression,
	{ offset = 0, isForSpreadsheets = false },
): Encoder {
	const line = isForSpreadsheets ? (row: Row) => record(row.map(harmless)) : record;
	const mark = isForSpreadsheets ? "\ufeff" : "";
	let header = offset > 0 ? "" : mark + line(columns.map(({ name }) => name));
	return lines(compression, (rows) => {
		const text = header + rows.map(line).join("");
		header = "";
		return text;
	});
}

/** Returns JSON text on one line; other text as a JSON string. */
function nested(json: string) {
	if (jsonOf(json) === undefined) return JSON.stringify(json);
	// Line breaks in valid JSON are white space between values.
	return /[\n\r]/.test(json) ? json.replace(/[\n\r]+/g, " ") : json;
}

/** The characters that JSON.stringify may escape. Testing for them costs a fraction of the call. */
const ESCAPED = /["\\\p{Cc}\p{Cs}]/u;

const quoted = (text: string) => (ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`);

/** Returns a function that writes a row as a JSON object. The values of JSON columns are nested. */
export function jsonWriter(columns: Column[]) {
	const members = columns.map(({ name, kind }, i) => ({
		start: `${i === 0 ? "{" : ","}${JSON.stringify(name)}:`,
		text: kind === "json" ? nested : quoted,
	}));
	return (row: Row) => {
		let json = "";
		let i = 0;
		for (const { start, text } of members) {
			const value = row[i] ?? null;
			json += start;
			json += typeof value === "string" ? text(value) : value;
			i += 1;
		}
		return `${json}}`;
	};
}

/** JSON Lines: one object per line (https://jsonlines.org). */
export const jsonLines = (columns: Column[], compression: LineCompression): Encoder => {
	const write = jsonWriter(columns);
	return lines(compression, (rows) => rows.map((row) => `${write(row)}\n`).join(""));
};
