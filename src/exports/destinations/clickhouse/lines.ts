import { jsonWriter } from "../../formats/lines.ts";
import type { Column, Row } from "../../query/rows.ts";
import { add, type Counts } from "../fit/fitter.ts";
import { holdsNull, isScalar } from "./fits.ts";
import type { ColumnTypes } from "./table.ts";

/** Counts the nulls in columns that can't hold null, in which ClickHouse stores their default. */
export function lostNulls(columns: Column[], types: ColumnTypes) {
	const required = columns.flatMap(({ name }, i) =>
		holdsNull(types.get(name) ?? "") ? [] : [{ name, i }],
	);
	return (rows: Row[], before: Counts) => {
		let counts = before;
		for (const { name, i } of required) {
			const nulls = rows.filter((row) => (row[i] ?? null) === null).length;
			if (nulls > 0) counts = add(counts, name, nulls);
		}
		return counts;
	};
}

/** An escaped surrogate pair, a lone surrogate (`lone`), or any other escape. */
const ESCAPE =
	/\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u(?<lone>[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

/** Replaces lone surrogates, which ClickHouse rejects, in JSON text. */
const storable = (json: string) =>
	json.includes("\\u")
		? json.replace(ESCAPE, (escaped, lone?: string) => (lone === undefined ? escaped : "\\ufffd"))
		: json;

const wellFormed = (text: string) => text.toWellFormed();

/** Writes rows as lines of JSON. JSON is nested unless the column has scalars. */
export function linesFor(columns: Column[], types: ColumnTypes) {
	const written = columns.map((column) =>
		column.kind === "json" && isScalar(types.get(column.name) ?? "")
			? { ...column, kind: "text" as const }
			: column,
	);
	const writers = written.map(({ kind }) => (kind === "json" ? storable : wellFormed));
	const toJson = jsonWriter(written);
	const write = (value: Row[number], i: number) =>
		typeof value === "string" ? (writers[i]?.(value) ?? value) : value;
	return (rows: Row[]) => rows.map((row) => `${toJson(row.map(write))}\n`).join("");
}
