// The global of this name is slow to look up in workerd.
import { Buffer } from "node:buffer";
import type { MODELS } from "../db/schema.ts";
import type { Expression, Field } from "./query/query.ts";

/**
 * What a column holds: `text`, `integer` (to 2^53), `number`, `boolean`, `timestamp` (ISO 8601 in UTC with milliseconds),
 * `date` (YYYY-MM-DD), or `json` (JSON text).
 */
export type Kind = "text" | "integer" | "number" | "boolean" | "timestamp" | "date" | "json";

export type Column = { name: string; kind: Kind };

/** The values of a row, in the order of its columns; null where there is none. */
export type Row = (string | number | boolean | null)[];

/** How many bytes the values of a row have as text, before they are packed in any format. */
export const bytesOf = (row: Row) => Buffer.byteLength(row.join(""));

export type Model = (typeof MODELS)[number];

const column = (name: string, kind: Kind = "text"): Field => ({
	name,
	kind,
	expression: { type: "column", name } satisfies Expression,
});

/** What is written of each model (docs/exports.md#what-is-written). */
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

/** What a database has to have besides, to tell rows apart. */
const KEYS: Record<Model, Field[]> = {
	events: [column("uuid"), column("team_id", "integer")],
	persons: [],
};

/**
 * The name of a field of a query that stands for something else than the column by which a database tells rows apart;
 * undefined: none does.
 */
export const shadowedKey = (model: Model, query: Field[]) =>
	query.find(
		({ name, expression }) =>
			KEYS[model].some((key) => key.name === name) &&
			!(expression.type === "column" && expression.name === name),
	)?.name;

/**
 * What an export writes of each row: its query's fields, or its model's; for a database also what tells rows apart.
 */
export function fieldsOf(model: Model, query: Field[] | null, database: boolean): Field[] {
	const fields = query ?? FIELDS[model];
	const names = new Set(fields.map(({ name }) => name));
	return database ? [...fields, ...KEYS[model].filter(({ name }) => !names.has(name))] : fields;
}
