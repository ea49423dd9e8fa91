import utils from "pg/lib/utils.js";
import * as z from "zod";
import type { Kind } from "../../query/expression.ts";
import { type Column, type Model, PRIMARY_KEYS } from "../../query/rows.ts";
import type { Limit } from "../fit/fitter.ts";
import type { Session } from "./connection.ts";
import type { Settings } from "./definition.ts";
import { fitOf, written } from "./fits.ts";

const TYPES: Record<Kind, string> = {
	text: "text",
	json: "jsonb",
	integer: "bigint",
	number: "double precision",
	boolean: "boolean",
	date: "date",
	timestamp: "timestamptz",
};

const quoted = (...names: string[]) => names.map((name) => utils.escapeIdentifier(name)).join(", ");

const namesOf = ({ schema, table_name }: Settings) => ({
	schema: schema ?? "public",
	name: table_name ?? "events",
});

export function tableOf(config: Settings) {
	const { schema, name } = namesOf(config);
	return `${quoted(schema)}.${quoted(name)}`;
}

/**
 * Looks up the table.
 * @returns `isPlain`: whether COPY stores new rows like the upsert. Triggers, including foreign
 * keys, may treat the two differently, and an upsert rejects deferrable unique constraints.
 * `checksJson`: whether all columns for JSON accept only JSON.
 */
export async function findTable({ query }: Session, config: Settings, columns: Column[]) {
	const { schema, name } = namesOf(config);
	const json = columns.filter(({ kind }) => kind === "json").map(({ name }) => name);
	// Within a transaction, to_regclass may cache that the table doesn't exist.
	const { rows } = await query(
		`select count(*) > 0 as has_schema, count(pg_class.oid) > 0 as has_table,
				bool_and(not relhastriggers and not exists (
					select from pg_index where indrelid = pg_class.oid and not indimmediate)) as is_plain,
				not exists (select from pg_attribute where attrelid = any(array_agg(pg_class.oid))
					and attname = any($3) and atttypid not in ('json'::regtype, 'jsonb'::regtype)) as checks_json
			from pg_namespace left join pg_class on relnamespace = pg_namespace.oid and relname = $2
			where nspname = $1`,
		[schema, name, json],
	);
	const [found = {}] = rows;
	return {
		hasSchema: found.has_schema === true,
		hasTable: found.has_table === true,
		isPlain: found.is_plain === true,
		checksJson: found.checks_json === true,
	};
}

const Types = z.array(
	z.object({
		column: z.string(),
		shown: z.string(),
		not_null: z.boolean(),
		name: z.string(),
		modifier: z.int(),
		labels: z.array(z.string()).nullable(),
	}),
);

/**
 * Returns the types of a table's columns, by name, and what these hold.
 * @returns `written`: the columns as their values are written
 */
export async function limitsOf({ query }: Session, config: Settings, columns: Column[]) {
	const { schema, name } = namesOf(config);
	// A domain has the type that it is based on, which may be a domain, too.
	const { rows } = await query(
		`with recursive types(name, not_null, type, modifier) as (
				select attname, attnotnull, atttypid, atttypmod from pg_attribute
					join pg_class on pg_class.oid = attrelid join pg_namespace on pg_namespace.oid = relnamespace
					where nspname = $1 and relname = $2 and attname = any($3) and attnum > 0 and not attisdropped
				union all
				select name, not_null or typnotnull, typbasetype, typtypmod
					from types join pg_type on oid = type where typtype = 'd')
			select types.name as column, format_type(type, modifier) as shown, not_null, typname as name, modifier,
				(select array_agg(enumlabel)::text[] from pg_enum where enumtypid = type) as labels
			from types join pg_type on oid = type where typtype <> 'd'`,
		[schema, name, columns.map(({ name }) => name)],
	);
	const types = new Map(Types.parse(rows).map((type) => [type.column, type]));
	const limits = new Map<string, Limit>();
	for (const { name, kind } of columns) {
		const type = types.get(name);
		if (type)
			limits.set(name, { type: type.shown, isNullable: !type.not_null, fit: fitOf(type, kind) });
	}
	return { limits, written: columns.map((column) => written(column, types.get(column.name))) };
}

/** Creates the table if it doesn't exist, within a transaction, and under a lock. */
export async function ensureTable(
	session: Session,
	config: Settings,
	columns: Column[],
	model: Model,
) {
	const { query } = session;
	const table = tableOf(config);
	if ((await findTable(session, config, columns)).hasTable) return;
	await query("select pg_advisory_xact_lock(hashtext($1))", [table]);
	const { hasSchema, hasTable } = await findTable(session, config, columns);
	if (hasTable) return;
	if (!hasSchema) await query(`create schema ${quoted(namesOf(config).schema)}`);
	const definitions = columns.map(({ name, kind }) => `${quoted(name)} ${TYPES[kind]}`);
	await query(
		`create table ${table} (${definitions.join(", ")}, primary key (${quoted(...PRIMARY_KEYS[model])}))`,
	);
}

/** A temporary table with the types of the table, so that COPY parses values the same way. */
const STAGING = "pg_temp.tenantry_rows";

/** Returns the statements that write rows to a table, within a transaction. */
export function statementsFor(table: string, columns: Column[], model: Model) {
	const key = PRIMARY_KEYS[model];
	const all = quoted(...columns.map(({ name }) => name));
	const changes = columns
		.filter(({ name }) => !key.includes(name))
		.map(({ name }) => `${quoted(name)} = excluded.${quoted(name)}`);
	const action = changes.length > 0 ? `update set ${changes.join(", ")}` : "nothing";
	const upsertFrom = (rows: string) =>
		`insert into ${table} (${all}) select ${all} from ${rows} on conflict (${quoted(...key)}) do ${action}`;
	return {
		/** Fails if every upsert would. Locks the table's definition until the transaction ends. */
		check: upsertFrom(`${table} where false`),
		load: `copy ${table} (${all}) from stdin`,
		stage: `create temporary table ${STAGING} on commit drop as select ${all} from ${table} with no data;
			copy ${STAGING} from stdin`,
		/** Inserts the rows. A row with an existing key replaces the existing row. */
		upsert: upsertFrom(STAGING),
	};
}
