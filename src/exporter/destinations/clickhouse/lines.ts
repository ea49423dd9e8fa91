import { toJson } from "../../formats/jsonlines.ts";
import type { Column, Row } from "../../rows.ts";
import type { ColumnTypes } from "./table.ts";

const STRING = /^(?:Fixed)?String\b/;
const DAY = /^Date(?:32)?$/;

/** A type without what wraps it: of `LowCardinality(Nullable(String))`, `String`. */
const bareType = (type: string): string => {
	const inner = /^(?:Nullable|LowCardinality)\((.*)\)$/.exec(type)?.[1];
	return inner === undefined ? type : bareType(inner);
};

/** A string or a number of JSON text. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** An escaped pair of surrogates, any other escape, or (`lone`) half a pair. */
const ESCAPE =
	/\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u(?<lone>[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

const withoutLoneSurrogates = (string: string) =>
	string.replace(ESCAPE, (escaped, lone?: string) => (lone === undefined ? escaped : "\\ufffd"));

/** JSON that a column of the type JSON takes: half surrogate pairs are U+FFFD, numbers beyond a double null. */
const fitJson = (json: string) =>
	json.replace(TOKEN, (token) => {
		if (token.startsWith('"')) return withoutLoneSurrogates(token);
		return Number.isFinite(Number(token)) ? token : "null";
	});

/** How a value of a column is written for the type that the table's column has. */
function writerFor({ kind }: Column, type: string) {
	if (kind === "json" && !STRING.test(type)) return fitJson;
	if (kind === "timestamp" && DAY.test(type)) return (time: string) => time.slice(0, 10);
	// ClickHouse takes no half surrogate pairs.
	return (text: string) => text.toWellFormed();
}

/**
 * Writes rows as JSON objects, one a line, for the columns of a table. JSON is a string where the column holds strings,
 * and nested elsewhere.
 */
export function linesFor(columns: Column[], types: ColumnTypes) {
	const bare = columns.map(({ name }) => bareType(types.get(name) ?? ""));
	const writers = columns.map((column, i) => writerFor(column, bare[i] ?? ""));
	const written = columns.map((column, i) =>
		column.kind === "json" && STRING.test(bare[i] ?? "")
			? { ...column, kind: "text" as const }
			: column,
	);
	const write = (value: Row[number], i: number) =>
		typeof value === "string" ? (writers[i]?.(value) ?? value) : value;
	return (rows: Row[]) => rows.map((row) => `${toJson(written, row.map(write))}\n`).join("");
}
