import { env } from "cloudflare:workers";
import pg from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { sampleOf } from "../../../src/exports/destinations/sample.ts";
import type { Column } from "../../../src/exports/query/rows.ts";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { job, noPostgres, rows, run } from "../../support/exporting.ts";
import {
	ask,
	config,
	createRoles,
	defined,
	fresh,
	KEY,
	open,
	quoted,
	to,
	withTable,
} from "./postgres_tables.ts";
import { CASES } from "./postgres_values.ts";

/** A short timeout of statements. It is also that of connecting, which a busy machine delays. */
const SHORT_MS = 2000;

describe.skipIf(noPostgres)(`PostgreSQL${noPostgres}`, () => {
	beforeAll(createRoles);

	test("holds 100,001 rows", async () => {
		const table_name = fresh();
		await run(to({ table_name }), job(), 100_001);
		const [found] = await ask(
			`select count(*)::int as n, sum(team_id)::float8 as ids,
				md5(string_agg(uuid || event, '' order by uuid)) as text from ${quoted(table_name)}`,
		);
		const text = rows(100_001).map(([uuid, event]) => `${uuid}${event}`);
		const md5 = await crypto.subtle.digest("MD5", Buffer.from(text.join("")));
		const ids = (100_001 * 100_000) / 2;
		expect(found).toEqual({ n: 100_001, ids, text: Buffer.from(md5).toString("hex") });
	});

	test("names of databases, schemas and tables can have any characters", async () => {
		const odd = `"'\`\\ ; é${crypto.randomUUID()}`;
		await ask(`create database ${quoted(odd)}`);
		const more = { database: odd, schema: odd, table_name: odd };
		await run(to(more), job(), 3);
		await run(to(more), job(), 3);
		const count = `select count(*)::int as n from ${quoted(odd)}.${quoted(odd)}`;
		expect(await ask(count, [], odd)).toEqual([{ n: 3 }]);
	});

	test("a schema that is null is public, as a missing one", async () => {
		const table_name = fresh();
		for (const schema of [null, undefined, "public"])
			await run(to({ schema, table_name }), job(), 2);
		expect(
			await ask("select table_schema from information_schema.tables where table_name = $1", [
				table_name,
			]),
		).toEqual([{ table_schema: "public" }]);
		expect(await ask(`select count(*)::int as n from public.${quoted(table_name)}`)).toEqual([
			{ n: 2 },
		]);
	});

	const READER = { user: "reader" };
	test.each<[string, (table: string) => string, RegExp, object?]>([
		[
			"a view that takes no rows",
			(t) =>
				`create table ${t.slice(0, -1)}x" ${defined()}; create view ${t} as select * from ${t.slice(0, -1)}x" limit 9`,
			/cannot insert into view/,
		],
		[
			"no unique index",
			(t) => `create table ${t} ${defined({ uuid: "uuid" })}`,
			/needs a unique index on uuid/,
		],
		[
			"a unique index that is deferred",
			(t) => `create table ${t} ${defined({ uuid: "uuid primary key deferrable" })}`,
			/deferrable/,
		],
		[
			"a missing column",
			(t) => `create table ${t} ${defined({ elements_chain: "" })}`,
			/lacks a column.*"elements_chain"/,
		],
		[
			"a column of a type that doesn't take the values",
			(t) => `create table ${t} ${defined({ distinct_id: "int4 not null" })}`,
			/column distinct_id .* doesn't accept a value.*integer/,
		],
		[
			"a generated column",
			(t) => `create table ${t} ${defined({ event: "text generated always as ('x') stored" })}`,
			/"event"/,
		],
		[
			"a column of one's own that must not be null",
			(t) => `create table ${t} ${defined({ mine: "int not null" })}`,
			/"mine"/,
		],
		[
			"no permission to insert",
			(t) => `create table ${t} ${defined()}; grant select on ${t} to reader`,
			/The user needs .*permission denied for table/,
			READER,
		],
		[
			"no permission to update",
			(t) => `create table ${t} ${defined()}; grant select, insert on ${t} to reader`,
			/The user needs .*permission denied for table/,
			READER,
		],
		[
			"no permission for a sequence",
			(t) =>
				`create table ${t} ${defined({ id: "serial" })}; grant select, insert, update on ${t} to reader`,
			/permission denied for sequence/,
			READER,
		],
		[
			"no permission for the rows",
			(t) =>
				`create table ${t} ${defined()}; grant select, insert, update on ${t} to reader; alter table ${t} enable row level security`,
			/row-level security/,
			READER,
		],
		[
			"no permission to replace rows",
			(t) =>
				`create table ${t} ${defined()}; grant select, insert, update on ${t} to reader; alter table ${t} enable row level security;
					create policy added on ${t} for insert with check (true)`,
			/row-level security/,
			READER,
		],
		[
			"no partition",
			(t) => `create table ${t} ${defined()} partition by hash (uuid)`,
			/no partition/,
		],
		[
			"a trigger that refuses new rows",
			(t) =>
				`create table ${t} ${defined()}; create trigger refuse before insert on ${t} for each row execute function refuse()`,
			/says: not here/,
		],
		[
			"a trigger that refuses to replace rows",
			(t) =>
				`create table ${t} ${defined()}; create trigger refuse before update on ${t} for each row execute function refuse()`,
			/says: not here/,
		],
		[
			"a constraint that is checked at the end",
			(t) =>
				`create table ${t} ${defined({ event: `text references ${t.slice(0, -1)}x" deferrable initially deferred` })}`.replace(
					"create",
					`create table ${t.slice(0, -1)}x" (name text primary key); create`,
				),
			/foreign key/,
		],
		[
			"a server that is read-only",
			(t) => `create table ${t} ${defined()}; grant all on ${t} to read_only`,
			/server is read-only/,
			{ user: "read_only" },
		],
	])("a trial finds %s, as a run would", async (_, sql, words, more = {}) => {
		await ask(
			"create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'not here'; end $$",
		);
		const table_name = fresh();
		await ask(sql(quoted(table_name)));
		const sample = sampleOf("events");
		const steps = await to({ table_name, ...more }).test(sample);
		expect(steps.at(-1)).toEqual({
			name: "write",
			error: expect.stringMatching(words),
		});
		const write = await open({ table_name, ...more }, sample.job);
		const twice = async () => {
			await write(sample.rows);
			await write(sample.rows);
		};
		const error = await twice().catch(({ message }) => message);
		// Which statement a read-only server rejects first doesn't matter.
		const withoutStatement = (text: unknown) =>
			String(text).replace(/cannot execute [A-Z ]+ in/, "cannot execute … in");
		expect(withoutStatement(error)).toBe(withoutStatement(steps.at(-1)?.error));
	});

	test("one connection writes all pages of a part", async () => {
		const table_name = fresh();
		await run(to({ table_name }), job(), 1);
		await ask(`alter table ${quoted(table_name)} add pid int default pg_backend_pid()`);
		await run(to({ table_name }), job(), 5000);
		expect(
			await ask(
				`select count(distinct pid)::int as pids, count(*)::int as n from ${quoted(table_name)} where uuid > $1`,
				[rows(1)[0]?.[0]],
			),
		).toEqual([{ pids: 1, n: 4999 }]);
	});

	test("a value that its column can't hold is rejected or changed by PostgreSQL alone", async () => {
		const { table } = await withTable(CASES.map(([type], i) => `c${i} ${type}`).join(", "));
		const kept: unknown[] = [];
		for (const [i, [type, , value, stored]] of CASES.entries()) {
			if (stored !== null) continue;
			const found = await ask(
				`insert into ${table} (uuid, c${i}) values ('${i}', $1) returning c${i}::text as v`,
				[String(value)],
			).catch(() => []);
			if (found[0]?.v === String(value)) kept.push([type, value]);
		}
		expect(kept).toEqual([]);
	});

	test("waiting for a lock has its own error, and can be retried", async () => {
		const table_name = fresh();
		await run(to({ table_name }), job(), 1);
		const client = new pg.Client(config);
		client.on("error", () => {});
		await client.connect();
		await client.query(`begin; lock table ${quoted(table_name)}`);
		const failed = run(to({ table_name }, SHORT_MS), job(), 1);
		await expect(failed).rejects.toThrow("has locked the table");
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
		await client.end();
	});

	test("a statement that takes too long has its own error, and can be retried", async () => {
		const table_name = fresh();
		await run(to({ table_name }), job(), 1);
		await ask(
			`create function ${quoted(`${table_name} slow`)}() returns trigger language plpgsql as $$ begin perform pg_sleep(30); return new; end $$;
				create trigger slow before insert on ${quoted(table_name)} for each row execute function ${quoted(`${table_name} slow`)}()`,
		);
		const failed = run(to({ table_name }, SHORT_MS), job(), 1);
		await expect(failed).rejects.toThrow("took longer than 2 seconds");
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
	});

	test.each([{}, { has_self_signed_cert: true }])(
		"an invalid certificate is an error of the user: %j",
		async (more) => {
			const destination = to({ port: Number(env.POSTGRES_TLS_PORT), ...more });
			const words = /^The certificate of 127\.0\.0\.1:\d+ is invalid/;
			expect((await destination.test()).at(-1)).toEqual({
				name: "reach",
				error: expect.stringMatching(words),
			});
			const failed = run(destination, job(), 1);
			await expect(failed).rejects.toThrow(words);
			await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
		},
	);

	test.each(["text", "json", "jsonb"])("%s that isn't JSON becomes a JSON string", async (type) => {
		const { more, table } = await withTable(`properties ${type}`);
		const columns: Column[] = [KEY, { name: "properties", kind: "json" }];
		const write = await open(more, job({ columns }));
		await write([["1", "not JSON"]]);
		expect(await ask(`select properties::text from ${table}`)).toEqual([
			{ properties: '"not JSON"' },
		]);
	});
});
