// Imported because the global `Buffer` is slow to access in workerd.
import { Buffer } from "node:buffer";
import type { MODELS } from "../../db/schema/batch_exports.ts";
import type { Expression, Field, Kind } from "./expression.ts";

export type Column = { name: string; kind: Kind };

/** The values of a row. An integer is a bigint if a number would lose digits of it. */
export type Row = (string | number | bigint | boolean | null)[];

/** Returns the size of a row's values as text, in bytes, without a file format or compression. */
export const bytesOf = (row: Row) => Buffer.byteLength(row.join(""));

/** Copies a text, which may be a slice that keeps a whole row's text in memory. */
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

/** The fields that databases get with every query. ClickHouse also needs `team_id`. */
const KEY_FIELDS: Record<Model, Field[]> = {
	events: [column("uuid"), column("team_id", "integer")],
	persons: [],
};

/** Returns the name of a field that is a key column's, but isn't that column; else undefined. */
export const shadowedKey = (model: Model, query: Field[]) =>
	query.find(
		({ name, expression }) =>
			KEY_FIELDS[model].some((key) => key.name === name) &&
			!(expression.type === "column" && expression.name === name),
	)?.name;

/** Returns the fields of the query or model, and for a database also the key columns. */
export function fieldsOf(model: Model, query: Field[] | null, database: boolean): Field[] {
	const fields = query ?? FIELDS[model];
	const names = new Set(fields.map(({ name }) => name));
	return database
		? [...fields, ...KEY_FIELDS[model].filter(({ name }) => !names.has(name))]
		: fields;
}
