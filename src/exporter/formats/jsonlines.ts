import type { Column, Row } from "../rows.ts";
import type { Encoder } from "./format.ts";
import { type LineCompression, lines } from "./lines.ts";

/** JSON text as one line; other text as a string. */
function nested(json: string) {
	try {
		JSON.parse(json);
	} catch {
		return JSON.stringify(json);
	}
	// Line breaks in valid JSON are white space between values.
	return /[\n\r]/.test(json) ? json.replace(/[\n\r]+/g, " ") : json;
}

/** What JSON.stringify may escape. Testing for it costs a fraction of the call. */
const ESCAPED = /["\\\p{Cc}\p{Cs}]/u;

const quoted = (text: string) => (ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`);

/** Makes the function that writes a row with these columns as one JSON object, in which JSON is nested. */
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

/** A row as one JSON object, in which JSON is nested. */
export const toJson = (columns: Column[], row: Row) => jsonWriter(columns)(row);

/** One object a line (https://jsonlines.org). */
export const jsonLines = (columns: Column[], compression: LineCompression): Encoder => {
	const write = jsonWriter(columns);
	return lines(compression, (rows) => rows.map((row) => `${write(row)}\n`).join(""));
};
