// The global of this name is slow to look up in workerd.
import { Buffer } from "node:buffer";
import type { MODELS } from "../db/schema/batch_exports.ts";
import type { Expression, Field, Kind } from "./query/expression.ts";

export type Column = { name: string; kind: Kind };

/** The values of a row, in the order of its columns. */
export type Row = (string | number | boolean | null)[];

/** How many bytes a row's values have as text, without a file format or compression. */
export const bytesOf = (row: Row) => Buffer.byteLength(row.join(""));

/**
 * A text in memory of its own; other values as they are. A column's text may be part of a whole row's, which would stay in memory
 * as long as it does.
 */
export const copied = <T extends Row[number]>(value: T) =>
	typeof value === "string" ? ` ${value}`.slice(1) : value;

export type Model = (typeof MODELS)[number];

const column = (name: string, kind: Kind = "text"): Field => ({
	name,
	kind,
	expression: { type: "column", name } satisfies Expression,
});

/** The fields of each model (docs/exports.md#what-is-written). */
const FIELDS: Record<Model, Field[]> = {
	events: [
		column("uuid"),
		column("event"),
		column("distinct_id"),
		column("person_id"),
		column("properties", "json"),
		column("person_properties", "json"),
		column("elements_chain"),
		column("timestamp", "timestamp"),
		column("created_at", "timestamp"),
		column("_inserted_at", "timestamp"),
	],
	persons: [
		column("team_id", "integer"),
		column("distinct_id"),
		column("person_id"),
		column("properties", "json"),
		column("person_version", "integer"),
		column("created_at", "timestamp"),
		column("_inserted_at", "timestamp"),
	],
};

/** The columns that identify the row of an event or a person in a table. */
export const PRIMARY_KEYS: Record<Model, string[]> = {
	events: ["uuid"],
	persons: ["team_id", "distinct_id"],
};

/** The fields that databases always get, whatever the query is. ClickHouse needs `team_id`, too. */
const KEY_FIELDS: Record<Model, Field[]> = {
	events: [column("uuid"), column("team_id", "integer")],
	persons: [],
};

/**
 * The name of a query's field that has the name of a key column and isn't that column; undefined if there is none.
 */
export const shadowedKey = (model: Model, query: Field[]) =>
	query.find(
		({ name, expression }) =>
			KEY_FIELDS[model].some((key) => key.name === name) &&
			!(expression.type === "column" && expression.name === name),
	)?.name;

/**
 * The fields that an export writes: those of its query or of its model, and for a database also the key columns.
 */
export function fieldsOf(model: Model, query: Field[] | null, database: boolean): Field[] {
	const fields = query ?? FIELDS[model];
	const names = new Set(fields.map(({ name }) => name));
	return database
		? [...fields, ...KEY_FIELDS[model].filter(({ name }) => !names.has(name))]
		: fields;
}
