import type { Column, Row } from "../../rows.ts";

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

/** Escapes of JSON that PostgreSQL can't store, NUL and half surrogate pairs, as U+FFFD. */
const storable = (json: string) =>
	json.includes("\\u")
		? json.replace(
				/\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(0000|d[89a-f][0-9a-f]{2}))|\\./gi,
				(all, lone) => (lone === undefined ? all : "\\ufffd"),
			)
		: json;

const isJson = (text: string) => {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
};

/** A value of a column. Text that isn't JSON becomes a JSON string. */
function field({ kind }: Column, value: Row[number]) {
	if (value === null) return "\\N";
	if (typeof value !== "string") return String(value);
	return escaped(kind === "json" ? storable(isJson(value) ? value : JSON.stringify(value)) : value);
}

/** Rows in the text format of COPY, in UTF-8: half surrogate pairs become U+FFFD. */
export function copyText(columns: Column[], rows: Iterable<Row>) {
	let text = "";
	for (const row of rows) {
		columns.forEach((column, i) => {
			text += `${i > 0 ? "\t" : ""}${field(column, row[i] ?? null)}`;
		});
		text += "\n";
	}
	return Buffer.from(text);
}
