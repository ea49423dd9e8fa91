import { env } from "cloudflare:workers";
import pg from "pg";
import { onTestFinished } from "vitest";
import type { Job } from "../../../src/exports/destinations/destination.ts";
import type { Column, Row } from "../../../src/exports/query/rows.ts";
import { destinationOf } from "../../support/exporting.ts";
import { HANG_MS } from "../../support/hang.ts";
import { PASSWORD, TLS_ONLY } from "../../support/postgres.ts";
import { TYPES } from "./postgres_values.ts";

export const config = {
	user: "owner",
	password: PASSWORD,
	host: "127.0.0.1",
	port: Number(env.POSTGRES_PORT),
	database: "postgres",
};

export const to = (more: object = {}, patience = HANG_MS) =>
	destinationOf(env, "Postgres", { ...config, ...more }, { timeoutMs: patience });

export async function ask(sql: string, values: unknown[] = [], database = config.database) {
	const client = new pg.Client({ ...config, database });
	client.on("error", () => {});
	try {
		await client.connect();
		const { rows } = await client.query(sql, values);
		return rows;
	} finally {
		await client.end();
	}
}

/** Creates the users of the tests, if they don't exist. */
export async function createRoles() {
	for (const name of ["reader", "read_only", TLS_ONLY])
		await ask(
			`do $$ begin create role ${name} login password '${PASSWORD}'; exception when duplicate_object then null; end $$`,
		);
	await ask("alter role read_only set default_transaction_read_only = on");
}

/** Opens a run, which ends with the test. Writes pages, and all of them at once. */
export async function open(more: object, what: Job) {
	const sink = await to(more).open(what, null, async () => {});
	onTestFinished(() => sink.release?.());
	return async (...pages: Row[][]) => {
		for (const page of pages) await sink.write(page);
		await sink.close();
	};
}

/** A table's columns as somebody would make them who knows events. */
export const NATIVE: Record<string, string> = {
	uuid: "uuid primary key",
	event: "varchar(400) not null",
	distinct_id: "text not null",
	person_id: "uuid",
	properties: "json",
	person_properties: "jsonb",
	elements_chain: "text",
	timestamp: "timestamp",
	created_at: "timestamptz",
	_inserted_at: "date",
	team_id: "numeric(20, 0)",
};

export const defined = (more: Record<string, string> = {}) =>
	`(${Object.entries({ ...NATIVE, ...more })
		.filter(([, type]) => type !== "")
		.map(([name, type]) => `${quoted(name)} ${type}`)
		.join(", ")})`;

export const fresh = () => `t"${crypto.randomUUID()}`;

export const quoted = (name: string) => pg.escapeIdentifier(name);

export const KEY: Column = { name: "uuid", kind: "text" };

/** Creates a table with these columns in addition to `uuid`. */
export async function withTable(columns: string) {
	const [schema, table_name] = [fresh(), fresh()];
	const table = [schema, table_name].map(quoted).join(".");
	await ask(
		`create schema ${quoted(schema)}; set search_path = ${quoted(schema)}; ${TYPES};
			create table ${table} (uuid text primary key, ${columns})`,
	);
	return { more: { schema, table_name }, table };
}
