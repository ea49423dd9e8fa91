// Imported because the global `Buffer` is slow to access in workerd.
import { Buffer } from "node:buffer";
import { jsonOf } from "../../../lib/json.ts";
import type { Column, Row } from "../../query/rows.ts";

const SPECIAL = /[\\\n\r\t\0]/;

const ESCAPES: Record<string, string> = {
	"\\": "\\\\",
	"\n": "\\n",
	"\r": "\\r",
	"\t": "\\t",
	// PostgreSQL can't store NUL.
	"\0": "\ufffd",
};

const escaped = (text: string) =>
	SPECIAL.test(text)
		? text.replace(/[\\\n\r\t\0]/g, (character) => ESCAPES[character] ?? "")
		: text;

/** Replaces the JSON escapes that PostgreSQL can't store, NUL and lone surrogates, with U+FFFD. */
const storable = (json: string) =>
	json.includes("\\u")
		? json.replace(
				/\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(0000|d[89a-f][0-9a-f]{2}))|\\./gi,
				(all, lone) => (lone === undefined ? all : "\\ufffd"),
			)
		: json;

const asJson = (text: string) => (jsonOf(text) === undefined ? JSON.stringify(text) : text);

/**
 * Encodes rows in the text format of COPY, in UTF-8. Lone surrogates become U+FFFD.
 * @param isChecked whether the server checks JSON itself; otherwise text that isn't JSON becomes a
 * JSON string
 */
export function copyText(columns: Column[], rows: Iterable<Row>, isChecked = false) {
	const kinds = columns.map(({ kind }) => kind);
	let text = "";
	for (const row of rows) {
		let separator = "";
		for (let i = 0; i < kinds.length; i += 1) {
			const value = row[i] ?? null;
			text += separator;
			separator = "\t";
			if (value === null) text += "\\N";
			else if (typeof value !== "string") text += value;
			else if (kinds[i] !== "json") text += escaped(value);
			else text += escaped(storable(isChecked ? value : asJson(value)));
		}
		text += "\n";
	}
	return Buffer.from(text);
}
