import { env } from "cloudflare:workers";
import pg from "pg";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Job } from "../../../../src/exports/engine/destinations/destination.ts";
import type { Column, Row } from "../../../../src/exports/engine/rows.ts";
import { sampleOf } from "../../../../src/exports/engine/sample.ts";
import { MisconfiguredError } from "../../../../src/outbound/errors.ts";
import { COLUMNS, destinationOf, job, noPostgres, rows, run } from "../../../support/exporting.ts";
import { HANG_MS } from "../../../support/hang.ts";
import { PASSWORD, TLS_ONLY } from "../../../support/postgres.ts";
import { eventually } from "../../../support/time.ts";
import { world } from "../../../support/world.ts";
import { CASES, TYPES } from "./postgres_values.ts";

const config = {
	user: "owner",
	password: PASSWORD,
	host: "127.0.0.1",
	port: Number(env.POSTGRES_PORT),
	database: "postgres",
};

const to = (more: object = {}, patience = HANG_MS) =>
	destinationOf(env, "Postgres", { ...config, ...more }, patience);

async function ask(sql: string, values: unknown[] = [], database = config.database) {
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

/** Opens a run, which ends with the test. Writes pages, and all of them at once. */
async function open(more: object, what: Job) {
	const sink = await to(more).open(what, null, async () => {});
	onTestFinished(() => sink.release?.());
	return async (...pages: Row[][]) => {
		for (const page of pages) await sink.write(page);
		await sink.close();
	};
}

/** A table's columns as somebody would make them who knows events. */
const NATIVE: Record<string, string> = {
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

const defined = (more: Record<string, string> = {}) =>
	`(${Object.entries({ ...NATIVE, ...more })
		.filter(([, type]) => type !== "")
		.map(([name, type]) => `${quoted(name)} ${type}`)
		.join(", ")})`;

const fresh = () => `t"${crypto.randomUUID()}`;

const quoted = (name: string) => pg.escapeIdentifier(name);

/** A short timeout of statements. It is also that of connecting, which a busy machine delays. */
const SHORT_MS = 2000;

describe.skipIf(noPostgres)(`PostgreSQL${noPostgres}`, () => {
	beforeAll(async () => {
		for (const name of ["reader", "read_only", TLS_ONLY])
			await ask(`create role ${name} login password '${PASSWORD}'`);
		await ask("alter role read_only set default_transaction_read_only = on");
	});

	test("keeps what it has when there are no rows to write", async () => {
		const table_name = fresh();
		for (const n of [0, 1, 0]) await run(to({ table_name }), job(), n, { crashes: true });
		expect(await ask(`select count(*)::int as n from ${quoted(table_name)}`)).toEqual([{ n: 1 }]);
	});

	test.each([1, 1000, 100_001])("holds %i rows, whatever crashes", async (n) => {
		const table_name = fresh();
		const crashes = n < 100_001;
		await run(to({ table_name, schema: "exports" }), job(), n, { crashes });
		const [found] = await ask(
			`select count(*)::int as n, sum(amount) as amount, sum(team_id)::float8 as ids, count(paid)::int as paid,
					count(day)::int as days, count(timestamp)::int as times, sum((properties->>'n')::float8) as properties,
					md5(string_agg(uuid || event, '' order by uuid)) as text
				from exports.${quoted(table_name)}`,
		);
		const all = rows(n);
		const sum = (of: (row: Row, i: number) => number) =>
			all.reduce((sum, row, i) => sum + of(row, i), 0);
		const text = all.map(([uuid, event]) => `${uuid}${event}`).join("");
		const md5 = await crypto.subtle.digest("MD5", Buffer.from(text));
		expect(found).toEqual({
			n,
			amount: n === 1 ? null : sum((row) => Number(row[3])),
			ids: sum((row) => Number(row[4])),
			paid: sum((row) => (row[5] === null ? 0 : 1)),
			days: sum((row) => (row[6] === null ? 0 : 1)),
			times: sum((row) => (row[7] === null ? 0 : 1)),
			properties: n === 1 ? null : sum((row, i) => (row[2] === null ? 0 : i)),
			text: Buffer.from(md5).toString("hex"),
		});
	});

	test("makes columns by what they hold", async () => {
		const table_name = fresh();
		await run(to({ table_name }), job(), 1);
		const found = await ask(
			"select column_name, data_type from information_schema.columns where table_name = $1 order by ordinal_position",
			[table_name],
		);
		expect(found.map((one) => [one.column_name, one.data_type].join(" "))).toEqual([
			"uuid text",
			"event text",
			"properties jsonb",
			"amount double precision",
			"team_id bigint",
			"paid boolean",
			"day date",
			"timestamp timestamp with time zone",
		]);
	});

	test("a row that comes again replaces what was there, in one page and one transaction too", async () => {
		const table_name = fresh();
		const write = await open({ table_name }, job());
		const [first = [], second = []] = rows(2);
		const changed = (event: string): Row => [first[0] ?? null, event, ...first.slice(2)];
		await write([first, second, changed("later")]);
		const event = async () => ask(`select event from ${quoted(table_name)} order by uuid`);
		expect(await event()).toEqual([{ event: "later" }, { event: second[1] }]);
		await write([changed("even later")], [second, changed("latest")]);
		expect(await event()).toEqual([{ event: "latest" }, { event: second[1] }]);
	});

	test("persons are told apart by project and distinct_id", async () => {
		const table_name = fresh();
		const columns = COLUMNS.filter(({ name }) => name !== "uuid").map((one) =>
			one.name === "event" ? { ...one, name: "distinct_id" } : one,
		);
		const what = job({ model: "persons", columns });
		const write = await open({ table_name }, what);
		const [[, , ...rest] = []] = rows(1);
		await write([
			["a", ...rest],
			["b", ...rest],
			["a", ...rest],
		]);
		expect(await ask(`select distinct_id from ${quoted(table_name)} order by 1`)).toEqual([
			{ distinct_id: "a" },
			{ distinct_id: "b" },
		]);
	});

	test("what can't be stored becomes a replacement character", async () => {
		const table_name = fresh();
		const columns: Column[] = [
			{ name: "uuid", kind: "text" },
			{ name: "properties", kind: "json" },
		];
		const write = await open({ table_name }, job({ columns }));
		await write([["a\0\0b", '{"\\u0000": "\\\\u0000 \\ud83d\\ude00 \\ud83d \\ude00"}']]);
		expect(await ask(`select * from ${quoted(table_name)}`)).toEqual([
			{
				uuid: "a\ufffd\ufffdb",
				properties: { "\ufffd": "\\u0000 😀 \ufffd \ufffd" },
			},
		]);
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

	test("a test leaves nothing behind", async () => {
		const schema = fresh();
		expect(await to({ schema }).test()).toEqual(
			["reach", "sign in", "write", "remove"].map((name) => ({
				name,
				error: null,
			})),
		);
		expect(await ask("select to_regnamespace($1) as there", [quoted(schema)])).toEqual([
			{ there: null },
		]);
	});

	test.each([
		["a wrong password", { password: "wrong-password" }, "sign in"],
		["no such user", { user: "somebody" }, "sign in"],
		["no such database", { database: "elsewhere" }, "sign in"],
		["a schema that the user may not make", { user: "reader", schema: "theirs" }, "write"],
		["nobody there", { port: 1 }, "reach"],
		["a server that offers no TLS", { user: TLS_ONLY }, "sign in"],
		["an invalid certificate", { port: Number(env.POSTGRES_TLS_PORT) }, "reach"],
		[
			"a self-signed one, although it is announced",
			{ port: Number(env.POSTGRES_TLS_PORT), has_self_signed_cert: true },
			"reach",
		],
	])("a test reports %s", async (_, more, step) => {
		const steps = await to(more).test();
		const last = steps.at(-1);
		expect(last).toMatchObject({ name: step, error: expect.any(String) });
		expect(steps.slice(0, -1).every(({ error }) => error === null)).toBe(true);
		const { user, password } = { ...config, ...more };
		expect(last?.error).not.toContain(`"${user}"`);
		expect(last?.error).not.toContain(password);
		const failed = run(to(more), job(), 1);
		await expect(failed).rejects.toThrow(last?.error ?? "");
		if ("port" in more && more.port === 1)
			await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
		else await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
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

	test("a table of one's own has native types", async () => {
		const table_name = fresh();
		await ask(`create table ${quoted(table_name)} ${defined()}`);
		const { job: what, rows } = sampleOf("events");
		expect(await to({ table_name }).test({ job: what, rows })).toHaveLength(4);
		expect(await ask(`select * from ${quoted(table_name)}`)).toEqual([]);
		const values: Record<string, Row[number]> = {
			uuid: "01890a5d-ac96-774b-bcce-b302099a8057",
			event: "a\tb\\N\n",
			distinct_id: "\\.",
			person_id: null,
			properties: '{"n": 12345678901234567890, "a":  "\\"\\\\\\n"}',
			person_properties: "not JSON",
			elements_chain: "",
			timestamp: "2024-02-29T12:34:56.789Z",
			created_at: "2024-02-29T12:34:56.789Z",
			_inserted_at: "2024-02-29T12:34:56.789Z",
			team_id: 9_007_199_254_740_991,
		};
		const write = await open({ table_name }, what);
		for (const again of [1, 2]) {
			const { columns } = what;
			await write([
				columns.map(({ name }) => values[name] ?? null),
				columns
					.map(({ name }) => (name === "uuid" ? `${again}${"0".repeat(31)}` : (values[name] ?? "")))
					.map((value, i) => (columns[i]?.name === "person_id" ? null : value)),
			]);
		}
		expect(
			await ask(
				`select uuid, event, distinct_id, person_id, properties::text, person_properties::text, elements_chain, timestamp::text,
						created_at at time zone 'UTC' = timestamp as same, _inserted_at::text, team_id
					from ${quoted(table_name)} where uuid = $1`,
				[values.uuid],
			),
		).toEqual([
			{
				...values,
				person_properties: '"not JSON"',
				timestamp: "2024-02-29 12:34:56.789",
				created_at: undefined,
				same: true,
				_inserted_at: "2024-02-29",
				team_id: "9007199254740991",
			},
		]);
		expect(await ask(`select count(*)::int as n from ${quoted(table_name)}`)).toEqual([{ n: 3 }]);
	});

	test("integers of 64 bits keep all digits", async () => {
		const table_name = fresh();
		const columns: Column[] = [
			{ name: "uuid", kind: "text" },
			{ name: "n", kind: "integer" },
		];
		const numbers = [-9223372036854775808n, 7, 9007199254740993n, 9223372036854775807n];
		const write = await open({ table_name }, job({ columns }));
		await write(numbers.map((n, i) => [`0000000${i}-0000-4000-8000-000000000000`, n]));
		expect(await ask(`select n::text from ${quoted(table_name)} order by n`)).toEqual(
			numbers.map((n) => ({ n: String(n) })),
		);
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

	describe("new rows go straight into the table, and others through a temporary one:", () => {
		/** Makes a table that keeps the statements that each of its rows was inserted by. */
		async function observed(more: Record<string, string> = {}) {
			const table_name = fresh();
			const table = quoted(table_name);
			const columns = { ...NATIVE, statements: "text default current_query()", ...more };
			await ask(`create table ${table} ${defined(columns)}`);
			const { job: what, rows: samples } = sampleOf("events");
			const at = what.columns.findIndex(({ name }) => name === "event");
			/** Rows with these numbers. */
			const numbered = (from: number, to: number, event: string) =>
				rows(to)
					.slice(from)
					.map(([uuid = null]) => samples[0]?.with(0, uuid).with(at, event) ?? []);
			return {
				table,
				numbered,
				open: () => open({ table_name }, what),
				/**
				 * How many rows there are of each event, and whether a temporary table was used to insert
				 * them.
				 */
				found: () =>
					ask(
						`select event, statements like '%temporary%' as staged, count(*)::int as n
							from ${table} group by 1, 2 order by 1, 2`,
					),
			};
		}

		test("a step that is written again after its commit went unnoticed", async () => {
			const { numbered, open, found } = await observed();
			const first = await open();
			await first(numbered(0, 600, "first"));
			expect(await found()).toEqual([{ event: "first", staged: false, n: 600 }]);
			const again = await open();
			await again(numbered(0, 600, "again"));
			await again(numbered(600, 900, "more"));
			expect(await found()).toEqual([
				{ event: "again", staged: false, n: 600 },
				{ event: "more", staged: true, n: 300 },
			]);
			const next = await open();
			await next(numbered(900, 1000, "next"));
			expect((await found()).at(-1)).toEqual({ event: "next", staged: false, n: 100 });
		});

		test("windows that overlap", async () => {
			const { numbered, open, found } = await observed();
			const first = await open();
			await first(numbered(0, 600, "first"));
			const second = await open();
			await second(numbered(400, 900, "second"));
			expect(await found()).toEqual([
				{ event: "first", staged: false, n: 400 },
				{ event: "second", staged: false, n: 200 },
				{ event: "second", staged: true, n: 300 },
			]);
		});

		test("a row that another transaction is inserting at the same time", async () => {
			const { table, numbered, open, found } = await observed();
			const client = new pg.Client(config);
			client.on("error", () => {});
			await client.connect();
			await client.query(
				`begin; insert into ${table} (uuid, event, distinct_id) values ('${rows(3)[2]?.[0]}', 'theirs', '')`,
			);
			const write = await open();
			const written = write(numbered(0, 5, "ours"));
			await eventually(async () =>
				expect(
					await ask(
						"select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like $1",
						[`begin;%${table}%`],
					),
				).toEqual([{ n: 1 }]),
			);
			await client.query("commit");
			await client.end();
			await written;
			expect(await found()).toEqual([
				{ event: "ours", staged: false, n: 1 },
				{ event: "ours", staged: true, n: 4 },
			]);
		});

		test("two runs that write the same rows at the same time", async () => {
			const { numbered, open, found } = await observed();
			const writes = await Promise.all([open(), open()]);
			await Promise.all(writes.map((write) => write(numbered(0, 3000, "same"))));
			const counts = (await found()).map(({ n }) => n);
			expect(counts.reduce((sum, n) => sum + n, 0)).toBe(3000);
		});

		test.each([
			[
				"a trigger",
				(t: string) =>
					`create function ${t.slice(0, -1)} nothing"() returns trigger language plpgsql as $$ begin return null; end $$;
						create trigger one after update on ${t} execute function ${t.slice(0, -1)} nothing"()`,
			],
			[
				"a unique constraint that can be deferred",
				(t: string) => `alter table ${t} add unique (uuid, event) deferrable`,
			],
		])("all rows of a table with %s", async (_, sql) => {
			const { table, numbered, open, found } = await observed();
			await ask(sql(table));
			const write = await open();
			await write(numbered(0, 3, "event"));
			expect(await found()).toEqual([{ event: "event", staged: true, n: 3 }]);
		});

		test("a table that loses its unique index during a run gets no row twice", async () => {
			const { table, numbered, open, found } = await observed();
			const write = await open();
			await write(numbered(0, 3, "event"));
			await ask(`alter table ${table} drop constraint ${table.slice(0, -1)}_pkey"`);
			await expect(write(numbered(0, 3, "event"))).rejects.toThrow("needs a unique index on uuid");
			expect(await found()).toEqual([{ event: "event", staged: false, n: 3 }]);
		});

		test.each(["text", "json", "jsonb"])(
			"%s that isn't JSON becomes a JSON string",
			async (type) => {
				const { table, numbered, open } = await observed({ properties: type });
				const write = await open();
				const at = sampleOf("events").job.columns.findIndex(({ name }) => name === "properties");
				await write(numbered(0, 1, "event").map((row) => row.with(at, "not JSON")));
				expect(await ask(`select properties::text from ${table}`)).toEqual([
					{ properties: '"not JSON"' },
				]);
			},
		);
	});

	describe("a value that its column can't hold", () => {
		const KEY: Column = { name: "uuid", kind: "text" };

		/** Creates a table with these columns in addition to `uuid`. */
		async function withTable(columns: string) {
			const [schema, table_name] = [fresh(), fresh()];
			const table = [schema, table_name].map(quoted).join(".");
			await ask(
				`create schema ${quoted(schema)}; set search_path = ${quoted(schema)}; ${TYPES};
					create table ${table} (uuid text primary key, ${columns})`,
			);
			return { more: { schema, table_name }, table };
		}

		const ofCases = () => withTable(CASES.map(([type], i) => `c${i} ${type}`).join(", "));
		const columns = [KEY, ...CASES.map(([, kind], i): Column => ({ name: `c${i}`, kind }))];

		const unfit = CASES.flatMap(([, , value, stored], i) =>
			stored === null || String(value).includes('"b":1e99999') ? [`c${i} (1)`] : [],
		);
		const words = `Written as null, because the column can't hold them: ${unfit.length} values in ${unfit.join(", ")}.`;

		test("is null and counted, and all others are stored as they are", async () => {
			const { more, table } = await ofCases();
			const row = ["1", ...CASES.map(([, , value]) => value)];
			const sink = await to(more).open(job({ columns }), null, async () => {});
			onTestFinished(() => sink.release?.());
			await sink.write([row]);
			expect(sink.unfit).toBe(unfit.length);
			expect(await sink.close()).toEqual({ warnings: [words] });
			const texts = CASES.map((_, i) => `c${i}::text`).join(", ");
			const [{ all }] = await ask(`select array[${texts}] as all from ${table}`);
			expect(CASES.map(([type, kind, value], i) => [type, kind, value, all[i]])).toEqual(CASES);
			const steps = await to(more).test({ job: job({ columns }), rows: [row] });
			expect(steps.at(-2)).toEqual({ name: "write", error: null, warning: words });
		});

		test("is rejected or changed by PostgreSQL alone", async () => {
			const { table } = await ofCases();
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

		test.each(["integer not null", "known"])(
			"makes a run and a test fail if the column is %s",
			async (type) => {
				const { more, table } = await withTable(`n ${type}`);
				const columns: Column[] = [KEY, { name: "n", kind: "integer" }];
				const rows = [["1", 3e9]];
				const words = `The column n of the table ${table} doesn't accept a value of the export. Its type, integer, can't hold 3000000000, and it can't be null: change the type, or allow null.`;
				const write = await open(more, job({ columns }));
				await expect(write(rows)).rejects.toThrow(words);
				const steps = await to(more).test({ job: job({ columns }), rows });
				expect(steps.at(-1)).toEqual({ name: "write", error: words });
			},
		);
	});

	test("a test writes the columns of the export's query", async () => {
		const { here } = await world();
		const table_name = fresh();
		await ask(
			`create table ${quoted(table_name)} (uuid uuid primary key, team_id int, kind text not null, n int)`,
		);
		const trial = async (xql_query: string, path = "/batch_exports/test") => {
			const { status, body } = await here("POST", path, {
				body: {
					destination: {
						type: "Postgres",
						config: { ...config, table_name },
					},
					xql_query,
				},
			});
			return body.steps?.at(-1).error ?? status;
		};
		const good = "SELECT event AS kind, toInt(properties.n) AS n FROM events";
		expect(await trial(good)).toBe(200);
		const bad = "SELECT event AS type FROM events";
		expect(await trial(bad)).toContain('column "type" does not exist');
		const { body } = await here("POST", "/batch_exports", {
			body: {
				name: "x",
				interval: "hour",
				paused: true,
				destination: { type: "Postgres", config: { ...config, table_name } },
				xql_query: bad,
			},
		});
		const saved = `/batch_exports/${body.id}/test`;
		const { body: tested } = await here("POST", saved);
		expect(tested.steps.at(-1).error).toContain('column "type"');
		expect(await trial(good, saved)).toBe(200);
		expect(await trial("SELECT event AS uuid FROM events")).toBe(400);
	});

	test("a table of another make is told", async () => {
		const table_name = fresh();
		await ask(`create table ${quoted(table_name)} (uuid text primary key)`);
		const failed = run(to({ table_name }), job(), 1);
		await expect(failed).rejects.toThrow('column "event"');
		await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
	});

	test("two runs that create the table concurrently both succeed", async () => {
		const table_name = fresh();
		await Promise.all([1, 2, 3].map(() => run(to({ table_name }), job(), 500)));
		expect(await ask(`select count(*)::int as n from ${quoted(table_name)}`)).toEqual([{ n: 500 }]);
	});

	test("a server that sends nothing causes a timeout", async () => {
		const { port } = new URL(env.DOH_SILENT);
		const failed = run(to({ port: Number(port) }, 300), job(), 1);
		await expect(failed).rejects.toThrow("did not answer within 0.3 seconds");
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
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

	const receiver = new URL(env.RECEIVER_URL);
	test.each<[string, object, RegExp]>([
		["a closed port", { port: 1 }, /^Nothing answers at 127\.0\.0\.1:1: /],
		[
			"no such host",
			{ host: "nowhere.example.test", port: 5432 },
			/^The name nowhere\.example\.test has no address\.$/,
		],
		["another kind of server", { port: Number(receiver.port) }, /doesn't respond like PostgreSQL/],
		[
			"no TLS where it is required",
			{ user: TLS_ONLY },
			/offers no TLS.*127\.0\.0\.1:\d+ says: pg_hba\.conf rejects .* user "\*\*\*"/,
		],
		[
			"an invalid certificate",
			{ port: Number(env.POSTGRES_TLS_PORT) },
			/^The certificate of 127\.0\.0\.1:\d+ is invalid/,
		],
		[
			"a wrong password",
			{ password: "check" },
			/^The server rejects the credentials: check the user, the password, .* says: password authentication failed for user "\*\*\*"\.$/,
		],
	])("%s has its own error", async (_, more, words) => {
		const steps = await to(more).test();
		expect(steps.at(-1)?.error).toMatch(words);
	});

	test("no connection stays open", async () => {
		const mine = () =>
			ask(
				"select count(*)::int as n from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
			);
		await eventually(async () => expect(await mine()).toEqual([{ n: 0 }]));
	});
});
