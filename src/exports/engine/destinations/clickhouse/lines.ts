import { toJson } from "../../formats/jsonlines.ts";
import type { Column, Row } from "../../rows.ts";
import type { ColumnTypes } from "./table.ts";

const STRING = /^(?:Fixed)?String\b/;
const DAY = /^Date(?:32)?$/;

/** The types that hold null without `Nullable`. */
const HOLDS_NULL = /^(?:(?:LowCardinality\()?Nullable\(|Variant\(|Dynamic\b|Nothing$)/;

/**
 * Returns the function that adds up how many values of rows are null in columns that can't hold
 * null, by the column's name. ClickHouse stores the column's default instead.
 */
export function lostNulls(columns: Column[], types: ColumnTypes) {
	const required = columns.flatMap(({ name }, i) =>
		HOLDS_NULL.test(types.get(name) ?? "") ? [] : [{ name, i }],
	);
	return (rows: Row[], before: Record<string, number>) => {
		const counts = { ...before };
		for (const { name, i } of required) {
			const nulls = rows.filter((row) => (row[i] ?? null) === null).length;
			if (nulls > 0) counts[name] = (counts[name] ?? 0) + nulls;
		}
		return counts;
	};
}

/** Returns a type without its wrappers: `String` for `LowCardinality(Nullable(String))`. */
const bareType = (type: string): string => {
	const inner = /^(?:Nullable|LowCardinality)\((.*)\)$/.exec(type)?.[1];
	return inner === undefined ? type : bareType(inner);
};

/** A string or number in JSON. The last quotation mark is optional, to prevent backtracking. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d[\d.eE+-]*/g;

/** An escaped surrogate pair, a lone surrogate (`lone`), or any other escape. */
const ESCAPE =
	/\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u(?<lone>[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

const withoutLoneSurrogates = (string: string) =>
	string.replace(ESCAPE, (escaped, lone?: string) => (lone === undefined ? escaped : "\\ufffd"));

/**
 * Converts JSON for a column of type JSON: lone surrogates become U+FFFD, and numbers that don't
 * fit into a double become null.
 */
const fitJson = (json: string) =>
	json.replace(TOKEN, (token) => {
		if (token.startsWith('"')) return withoutLoneSurrogates(token);
		return Number.isFinite(Number(token)) ? token : "null";
	});

/** Returns how to write a column's texts for its type in the table. */
function writerFor({ kind }: Column, type: string) {
	if (kind === "json" && !STRING.test(type)) return fitJson;
	if (kind === "timestamp" && DAY.test(type)) return (time: string) => time.slice(0, 10);
	// ClickHouse rejects lone surrogates.
	return (text: string) => text.toWellFormed();
}

/**
 * Writes rows as JSON objects, one per line, for the columns of a table. JSON is a string if the
 * column has strings, otherwise it is nested.
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
