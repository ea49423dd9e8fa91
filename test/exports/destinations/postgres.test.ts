import { env } from "cloudflare:workers";
import pg from "pg";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { sampleOf } from "../../../src/exports/destinations/sample.ts";
import type { Column, Row } from "../../../src/exports/query/rows.ts";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { COLUMNS, job, noPostgres, rows, run } from "../../support/exporting.ts";
import { TLS_ONLY } from "../../support/postgres.ts";
import { eventually } from "../../support/time.ts";
import { world } from "../../support/world.ts";
import {
	ask,
	config,
	createRoles,
	defined,
	fresh,
	KEY,
	NATIVE,
	open,
	quoted,
	to,
	withTable,
} from "./postgres_tables.ts";
import { CASES } from "./postgres_values.ts";
import { testTables } from "./table_cases.ts";

describe.skipIf(noPostgres)(`PostgreSQL${noPostgres}`, () => {
	beforeAll(createRoles);

	testTables({
		fresh,
		to: (table_name) => to({ table_name }),
		select: (columns, table) => ask(`select ${columns} from ${quoted(table)} order by uuid`),
		columnsOf: async (table) => {
			const found = await ask(
				"select column_name || ' ' || data_type as one from information_schema.columns where table_name = $1 order by ordinal_position",
				[table],
			);
			return found.map(({ one }) => one);
		},
		types: [
			"uuid text",
			"event text",
			"properties jsonb",
			"amount double precision",
			"team_id bigint",
			"paid boolean",
			"day date",
			"timestamp timestamp with time zone",
		],
		text: "text",
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
		["no such user", { user: "somebody" }, "sign in"],
		["no such database", { database: "elsewhere" }, "sign in"],
		["a schema that the user may not make", { user: "reader", schema: "theirs" }, "write"],
		["a server that offers no TLS", { user: TLS_ONLY }, "sign in"],
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
		await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
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
	});

	describe("a value that its column can't hold", () => {
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

	const receiver = new URL(env.RECEIVER_URL);
	test.each<[string, object, RegExp]>([
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
