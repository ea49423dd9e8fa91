import type { Column, Row } from "../rows.ts";
import type { Encoder } from "./format.ts";
import { type LineCompression, lines } from "./lines.ts";

/** JSON text as one line; what is no JSON as a string. */
function nested(json: string) {
	try {
		JSON.parse(json);
		// Only white space between values is a line break as it stands.
		return json.replace(/[\n\r]+/g, " ");
	} catch {
		return JSON.stringify(json);
	}
}

/** A row as one JSON object, in which JSON is nested. */
export const toJson = (columns: Column[], row: Row) =>
	`{${columns
		.map(({ name, kind }, i) => {
			const value = row[i] ?? null;
			return `${JSON.stringify(name)}:${
				kind === "json" && typeof value === "string"
					? nested(value)
					: JSON.stringify(value)
			}`;
		})
		.join(",")}}`;

/** One object a line (https://jsonlines.org). */
export const jsonLines = (
	columns: Column[],
	compression: LineCompression,
): Encoder =>
	lines(compression, (rows) =>
		rows.map((row) => `${toJson(columns, row)}\n`).join(""),
	);
