import { jsonOf } from "../../lib/json.ts";
import type { Column, Row } from "../query/rows.ts";
import type { Encoder } from "./format.ts";
import { type LineCompression, lines } from "./lines.ts";

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
