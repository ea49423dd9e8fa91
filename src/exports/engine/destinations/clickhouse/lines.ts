import { jsonWriter } from "../../formats/jsonlines.ts";
import type { Column, Row } from "../../rows.ts";
import type { ColumnTypes } from "./table.ts";

const STRING = /^(?:Fixed)?String\b/;
const DAY = /^Date(?:32)?$/;

/** The types that hold null without `Nullable`. */
const HOLDS_NULL = /^(?:(?:LowCardinality\()?Nullable\(|Variant\(|Dynamic\b|Nothing$)/;

/** Counts the nulls in columns that can't hold null, in which ClickHouse stores their default. */
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

/** A string or a number in JSON. The last quote is optional so that it never backtracks. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d[\d.eE+-]*/g;

/** An escaped surrogate pair, a lone surrogate (`lone`), or any other escape. */
const ESCAPE =
	/\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u(?<lone>[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

const withoutLoneSurrogates = (string: string) =>
	string.replace(ESCAPE, (escaped, lone?: string) => (lone === undefined ? escaped : "\\ufffd"));

/** Replaces what a JSON column rejects: lone surrogates, and numbers beyond a double. */
const fitJson = (json: string) =>
	json.replace(TOKEN, (token) => {
		if (token.startsWith('"')) return withoutLoneSurrogates(token);
		return Number.isFinite(Number(token)) ? token : "null";
	});

function writerFor({ kind }: Column, type: string) {
	if (kind === "json" && !STRING.test(type)) return fitJson;
	if (kind === "timestamp" && DAY.test(type)) return (time: string) => time.slice(0, 10);
	// ClickHouse rejects lone surrogates.
	return (text: string) => text.toWellFormed();
}

/** Writes rows as lines of JSON. JSON is a string if the column has strings, else nested. */
export function linesFor(columns: Column[], types: ColumnTypes) {
	const bare = columns.map(({ name }) => bareType(types.get(name) ?? ""));
	const writers = columns.map((column, i) => writerFor(column, bare[i] ?? ""));
	const written = columns.map((column, i) =>
		column.kind === "json" && STRING.test(bare[i] ?? "")
			? { ...column, kind: "text" as const }
			: column,
	);
	const toJson = jsonWriter(written);
	const write = (value: Row[number], i: number) =>
		typeof value === "string" ? (writers[i]?.(value) ?? value) : value;
	return (rows: Row[]) => rows.map((row) => `${toJson(row.map(write))}\n`).join("");
}
