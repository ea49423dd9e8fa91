import { env } from "cloudflare:workers";
import { createClient } from "@clickhouse/client-web";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Job } from "../../../src/exports/destinations/destination.ts";
import { sampleOf } from "../../../src/exports/destinations/sample.ts";
import { type Column, fieldsOf, type Row } from "../../../src/exports/query/rows.ts";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { access, noClickHouse } from "../../support/clickhouse_tables.ts";
import { COLUMNS, destinationOf, job, rows, run } from "../../support/exporting.ts";
import { CASES, STRUCTURES } from "./clickhouse_values.ts";
import { testTables, write as writeTo } from "./table_cases.ts";

const DATABASE = "default";
const HOST = new URL(access.url).host;

const config = {
	url: access.url,
	user: access.username,
	password: access.password,
	database: DATABASE,
};

afterEach(() => vi.restoreAllMocks());

const to = (more: object = {}) => destinationOf(env, "ClickHouse", { ...config, ...more });

const client = () =>
	createClient({
		...access,
		database: DATABASE,
		keep_alive: { enabled: false },
		clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
	});

const ask = async (query: string) =>
	(await client().query({ query, format: "JSONEachRow" })).text();

const command = (query: string) => client().command({ query });

const fresh = () => `t\`"\\${crypto.randomUUID()}`;

const quoted = (name: string) => `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;

/** Writes pages as one part of a run, and closes it. */
const write = (more: object, what: Job, ...pages: Row[][]) => writeTo(to(more), what, ...pages);

/** The rows of a result in JSON. */
const linesOf = (text: string): Record<string, unknown>[] =>
	text
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line));

const KEY: Column[] = [
	{ name: "uuid", kind: "text" },
	{ name: "team_id", kind: "integer" },
];
const UUID = "00000000-0000-7000-8000-000000000001";

/** A table with native types, as a user might create it. */
const NATIVE = `(uuid UUID, team_id UInt32, event LowCardinality(String), distinct_id FixedString(36), person_id Nullable(UUID),
	properties JSON, person_properties Map(String, String), elements_chain LowCardinality(Nullable(String)), timestamp DateTime,
	created_at DateTime64(3, 'Europe/Berlin'), _inserted_at Date, more UInt8 default 7)
	engine = ReplacingMergeTree order by (team_id, uuid)`;

describe.skipIf(noClickHouse)(`ClickHouse${noClickHouse}`, () => {
	testTables({
		fresh,
		to: (table_name) => to({ table_name }),
		select: async (columns, table) =>
			linesOf(await ask(`select ${columns} from ${quoted(table)} final order by uuid`)),
		columnsOf: async (table) => {
			const { statement } = JSON.parse(await ask(`show create table ${quoted(table)}`));
			expect(statement).toContain("ReplacingMergeTree\nORDER BY (team_id, uuid)");
			const [, columns = ""] = /\((.+?)\)\nENGINE/s.exec(statement) ?? [];
			return columns.trim().split(/,?\n */);
		},
		types: [
			"`uuid` String",
			"`event` Nullable(String)",
			"`properties` Nullable(String)",
			"`amount` Nullable(Float64)",
			"`team_id` Int64",
			"`paid` Nullable(Bool)",
			"`day` Nullable(Date32)",
			"`timestamp` Nullable(DateTime64(6, 'UTC'))",
		],
		text: "String",
	});

	test("holds 50,001 rows as they are, after any crash", async () => {
		const table_name = fresh();
		await run(to({ table_name }), job(), 50_001, { crashes: true });
		const found = linesOf(await ask(`select * from ${quoted(table_name)} final order by uuid`));
		expect(found).toHaveLength(50_001);
		for (const [i, row] of rows(50_001).entries()) {
			const timestamp = row[7] && `${String(row[7]).replace("T", " ").slice(0, -1)}000`;
			const expected = Object.fromEntries(
				COLUMNS.map(({ name }, at) => [name, name === "timestamp" ? timestamp : row[at]]),
			);
			if (JSON.stringify(expected) !== JSON.stringify(found[i])) expect(found[i]).toEqual(expected);
		}
	});

	test("the name of a database can have any characters", async () => {
		const [database, table_name] = [fresh(), fresh()];
		await command(`create database ${quoted(database)}`);
		await write({ database, table_name }, job({ columns: KEY }), [[UUID, 7]]);
		expect((await to({ database, table_name }).test()).at(-1)).toHaveProperty("name", "write");
		expect(await ask(`select count() as n from ${quoted(database)}.${quoted(table_name)}`)).toBe(
			'{"n":1}\n',
		);
	});

	test("holds the highest version of a person", async () => {
		const table_name = fresh();
		const columns = fieldsOf("persons", null, true);
		const what = job({ model: "persons", columns });
		const person = (id: string, version: number): Row => [
			7,
			id,
			null,
			`{"v":${version}}`,
			version,
			null,
			null,
		];
		await write({ table_name }, what, [person("a", 5), person("b", 1)]);
		await write({ table_name }, what, [person("a", 4), person("b", 2)]);
		expect(
			await ask(`select distinct_id, properties from ${quoted(table_name)} final order by 1`),
		).toBe(
			'{"distinct_id":"a","properties":"{\\"v\\":5}"}\n{"distinct_id":"b","properties":"{\\"v\\":2}"}\n',
		);
	});

	test("writes to a table with native types, with every digit", async () => {
		const table_name = fresh();
		await command(`create table ${quoted(table_name)} ${NATIVE}`);
		const columns = fieldsOf("events", null, true);
		const time = "2024-02-29T12:00:00.123Z";
		const values: Record<string, Row[number]> = {
			uuid: UUID,
			event: null,
			distinct_id: "d",
			person_id: null,
			properties: '{"id":1234567890123456789,"a":[{"b":9007199254740993}]}',
			person_properties: '{"plan":"free"}',
			elements_chain: null,
			timestamp: time,
			created_at: time,
			_inserted_at: time,
			team_id: 7,
		};
		const row = columns.map(({ name }) => values[name] ?? null);
		const steps = await to({ table_name }).test({
			job: job({ columns }),
			rows: [row],
		});
		expect(steps.at(-1)).toEqual({ name: "write", error: null });
		await write({ table_name }, job({ columns }), [row]);
		expect(await ask(`select * from ${quoted(table_name)}`)).toBe(
			`${[
				`{"uuid":"${UUID}","team_id":7,"event":"","distinct_id":"d${"\\u0000".repeat(35)}","person_id":null`,
				'"properties":{"a":[{"b":9007199254740993}],"id":1234567890123456789}',
				'"person_properties":{"plan":"free"},"elements_chain":null,"timestamp":"2024-02-29 12:00:00"',
				'"created_at":"2024-02-29 13:00:00.123","_inserted_at":"2024-02-29","more":7}',
			].join(",")}\n`,
		);
	});

	test.each([
		["String", '"{\\"a\\":\\"\\\\ud800x\\",\\"b\\":1e400,\\"a\\":\\"\\\\ud83d\\\\ude00\\"}"'],
		["JSON", '{"a":"\ufffdx"}'],
	])("writes any properties of events to %s", async (type, value) => {
		const table_name = fresh();
		await command(
			`create table ${quoted(table_name)} (uuid String, team_id Int64, event String, p ${type}) engine = MergeTree order by uuid`,
		);
		const columns: Column[] = [
			...KEY,
			{ name: "event", kind: "text" },
			{ name: "p", kind: "json" },
		];
		await write({ table_name }, job({ columns }), [
			[UUID, 7, "\ud800 \0", '{"a":"\\ud800x","b":1e400,"a":"\\ud83d\\ude00"}'],
		]);
		expect(await ask(`select event, p from ${quoted(table_name)}`)).toBe(
			`{"event":"\ufffd \\u0000","p":${value}}\n`,
		);
	});

	test("an insert that a proxy answers with a page of its own is repeated", async () => {
		const table_name = fresh();
		const real = globalThis.fetch;
		const down = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
			const isInsert =
				input instanceof Request && (await input.clone().text()).startsWith("INSERT");
			return isInsert ? new Response("<title>Back soon</title>") : real(input, init);
		});
		const what = job({ columns: KEY });
		const failed = write({ table_name }, what, [[UUID, 7]]);
		await expect(failed).rejects.toThrow(
			`The insert was not confirmed. ${HOST} answered 200: "Back soon".`,
		);
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
		down.mockRestore();
		await write({ table_name }, what, [[UUID, 7]]);
		expect(await ask(`select count() as n from ${quoted(table_name)}`)).toBe('{"n":1}\n');
	});

	describe("an insert whose response was lost", () => {
		/**
		 * Writes a row to the table although the response to the first insert is lost. Returns what the
		 * run warns of.
		 */
		async function insertTwice(table_name: string) {
			const what = job({ columns: KEY });
			let kept: unknown = null;
			const attempt = async () => {
				const sink = await to({ table_name }).open(what, kept, async (state) => {
					kept = state;
				});
				await sink.write([[UUID, 7]]);
				return sink.close();
			};
			const real = globalThis.fetch;
			const lossy = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
				const isInsert =
					input instanceof Request && (await input.clone().text()).startsWith("INSERT");
				const response = await real(input, init);
				if (isInsert) throw new Error("Network connection lost.");
				return response;
			});
			await expect(attempt()).rejects.toThrow(`The connection to ${HOST} was closed`);
			lossy.mockRestore();
			return (await attempt()).warnings;
		}

		const count = (table: string) => ask(`select count() as n from ${table}`);
		const warning = (table_name: string, engine: string) =>
			`The table ${quoted(table_name)} (${engine}) keeps rows that are inserted twice, which happens when the response to an insert is lost. Use a ReplacingMergeTree or a replicated table, or set non_replicated_deduplication_window.`;

		test("is stored once in a table that the export creates", async () => {
			const table_name = fresh();
			expect(await insertTwice(table_name)).toEqual([]);
			expect(await count(`${quoted(table_name)} final`)).toBe('{"n":1}\n');
			expect((await to({ table_name }).test()).at(-1)).toHaveProperty("name", "write");
		});

		test.each([
			[
				"a MergeTree that remembers inserts",
				"MergeTree",
				"order by uuid settings non_replicated_deduplication_window = 100",
				1,
			],
			["a ReplacingMergeTree", "ReplacingMergeTree", "order by uuid", 1],
			["a MergeTree", "MergeTree", "order by uuid", 2],
			["a SummingMergeTree", "SummingMergeTree", "order by (uuid, team_id)", 2],
			["a Memory table", "Memory", "", 2],
		])("is stored as often as a run and a test warn, in %s", async (_, engine, more, stored) => {
			const table_name = fresh();
			await command(
				`create table ${quoted(table_name)} (uuid String, team_id Int64) engine = ${engine} ${more}`,
			);
			const warnings = stored === 1 ? [] : [warning(table_name, engine)];
			const steps = await to({ table_name }).test({
				job: job({ columns: KEY }),
				rows: [[UUID, 7]],
			});
			expect(steps.at(-1)).toEqual({
				name: "write",
				error: null,
				...(stored > 1 && { warning: warnings[0] }),
			});
			expect(await insertTwice(table_name)).toEqual(warnings);
			const final = engine === "ReplacingMergeTree" ? "final" : "";
			expect(await count(`${quoted(table_name)} ${final}`)).toBe(`{"n":${stored}}\n`);
		});
	});

	test("a run that starts over is not taken for its earlier inserts, which the table remembers", async () => {
		const table_name = fresh();
		await command(
			`create table ${quoted(table_name)} (uuid String, team_id Int64) engine = MergeTree order by uuid
				settings non_replicated_deduplication_window = 100`,
		);
		const what = job({ columns: KEY });
		for (const n of [1, 2]) {
			await write({ table_name }, what, [[UUID, 7]]);
			expect(await ask(`select count() as n from ${quoted(table_name)}`)).toBe(`{"n":${n}}\n`);
		}
	});

	test("a run counts null values that its columns can't hold, also after a crash", async () => {
		const table_name = fresh();
		await command(
			`create table ${quoted(table_name)} (uuid String, team_id Int64, event String, n Int64 default 9,
				kept Nullable(String), low LowCardinality(Nullable(String))) engine = ReplacingMergeTree order by uuid`,
		);
		const columns: Column[] = [
			...KEY,
			{ name: "event", kind: "text" },
			{ name: "n", kind: "integer" },
			{ name: "kept", kind: "text" },
			{ name: "low", kind: "text" },
		];
		const what = job({ columns });
		let kept: unknown = null;
		const open = () =>
			to({ table_name }).open(what, kept, async (state) => {
				kept = state;
			});
		const large: Row[] = Array.from({ length: 5 }, (_, i) => [
			String(i),
			7,
			"x".repeat(10 ** 6),
			null,
			null,
			null,
		]);
		const first = await open();
		kept = await first.write(large);
		expect(kept).not.toBeNull();
		const second = await open();
		await second.write([
			["5", 7, null, null, null, "x"],
			["6", 7, null, 1, "x", null],
		]);
		expect(await second.close()).toEqual({
			warnings: [
				"Stored as the default of their column, because the column isn't Nullable: 8 null values in n (6), event (2).",
			],
		});
		expect(
			await ask(`select event, n, kept from ${quoted(table_name)} where uuid >= '5' order by uuid`),
		).toBe('{"event":"","n":9,"kept":null}\n{"event":"","n":1,"kept":"x"}\n');
		// Even if only the last step of the run is repeated.
		kept = { ...Object(kept), nulls: { n: 1 } };
		expect(await (await open()).close()).toEqual({
			warnings: [expect.stringContaining("1 null value in n (1).")],
		});
	});

	/** Creates a table with these columns in addition to `uuid` and `team_id`. */
	const withTable = async (columns: string, settings = "") => {
		const table_name = fresh();
		await command(
			`create table ${quoted(table_name)} (uuid String, team_id Int64, ${columns}) engine = MergeTree order by uuid ${settings}`,
		);
		return { table_name };
	};

	describe("a value that its column can't hold", () => {
		/** Creates a table with a nullable column for each case. */
		async function tableOfCases() {
			const table_name = fresh();
			const types = CASES.map(([type]) => (type.includes("Nullable") ? type : `Nullable(${type})`));
			await command(
				`create table ${quoted(table_name)} (uuid String, team_id Int64, ${types.map((type, i) => `c${i} ${type}`).join(", ")}) engine = ReplacingMergeTree order by uuid`,
			);
			const columns = [...KEY, ...CASES.map(([, kind], i): Column => ({ name: `c${i}`, kind }))];
			return { table_name, columns };
		}

		test("is null and counted, and all others are stored as they are", async () => {
			const { table_name, columns } = await tableOfCases();
			const row = [UUID, 7, ...CASES.map(([, , value]) => value)];
			const sink = await to({ table_name }).open(job({ columns }), null, async () => {});
			await sink.write([row]);
			const unfit = CASES.flatMap(([, , , stored], i) => (stored === null ? [`c${i} (1)`] : []));
			const words = `Written as null, because the column can't hold them: ${unfit.length} values in ${unfit.join(", ")}.`;
			expect(sink.unfit).toBe(unfit.length);
			expect(await sink.close()).toEqual({ warnings: [words] });
			const texts = CASES.map((_, i) => `toString(c${i})`).join(", ");
			const { all } = JSON.parse(await ask(`select [${texts}] as all from ${quoted(table_name)}`));
			expect(CASES.map(([type, kind, value], i) => [type, kind, value, all[i]])).toEqual(CASES);
			const steps = await to({ table_name }).test({ job: job({ columns }), rows: [row] });
			expect(steps.at(-1)).toEqual({ name: "write", error: null, warning: words });
		});

		test("is rejected or changed by ClickHouse alone", async () => {
			const kept: unknown[] = [];
			for (const [type, kind, value, stored] of CASES) {
				if (stored !== null) continue;
				const json = kind === "json" || typeof value !== "string" ? value : JSON.stringify(value);
				const literal = (text: string) => `'${text.replace(/[\\']/g, "\\$&")}'`;
				const found = await ask(
					`select toString(v) as v from format(JSONEachRow, ${literal(`v ${type}`)}, ${literal(`{"v":${json}}`)})
						settings date_time_input_format = 'best_effort'`,
				).catch(() => "{}");
				if (JSON.parse(found).v === String(value)) kept.push([type, value]);
			}
			expect(kept).toEqual([]);
		});

		test.each(STRUCTURES)("in %s is checked, too: %s", async (type, value, stored) => {
			const { table_name } = await withTable(`c ${type}`);
			const columns: Column[] = [...KEY, { name: "c", kind: "json" }];
			const written = write({ table_name }, job({ columns }), [[UUID, 7, value]]);
			if (stored === null)
				return expect(written).rejects.toThrow(`can't hold ${value}, and it can't be null`);
			await written;
			expect(JSON.parse(await ask(`select toString(c) as c from ${quoted(table_name)}`)).c).toBe(
				stored,
			);
		});

		test("makes a run and a test fail if the column can't be null", async () => {
			const more = await withTable("n UInt8");
			const columns: Column[] = [...KEY, { name: "n", kind: "integer" }];
			const failed = write(more, job({ columns }), [[UUID, 7, 300]]);
			const words = `The column n of the table ${quoted(more.table_name)} doesn't accept a value of the export. Its type, UInt8, can't hold 300, and it can't be null: change the type, or allow null.`;
			await expect(failed).rejects.toThrow(words);
			await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
			const steps = await to(more).test({ job: job({ columns }), rows: [[UUID, 7, 300]] });
			expect(steps.at(-1)).toEqual({ name: "write", error: words });
		});

		test("within JSON is null and counted", async () => {
			const more = await withTable("p JSON");
			const columns: Column[] = [...KEY, { name: "p", kind: "json" }];
			const sink = await to(more).open(job({ columns }), null, async () => {});
			await sink.write([[UUID, 7, '{"a":0.1234567890123456789,"b":[1e400],"c":0.1}']]);
			expect(await sink.close()).toHaveProperty("warnings.1", expect.stringContaining("p (2)"));
			expect(await ask(`select p from ${quoted(more.table_name)}`)).toBe(
				'{"p":{"b":[null],"c":0.1}}\n',
			);
		});

		test("is counted once, however often a run goes on", async () => {
			const more = await withTable("n Nullable(UInt8), x Nullable(String)");
			const columns: Column[] = [
				...KEY,
				{ name: "n", kind: "integer" },
				{ name: "x", kind: "text" },
			];
			const large = "x".repeat(5 * 10 ** 6);
			const first = await to(more).open(job({ columns }), null, async () => {});
			const state = await first.write([[UUID, 7, 300, large]]);
			const second = await to(more).open(job({ columns }), state, async () => {});
			await second.write([[UUID, 7, 256, null]]);
			expect([first.unfit, second.unfit]).toEqual([1, 1]);
			expect(await second.close()).toHaveProperty("warnings.1", expect.stringContaining("n (2)"));
		});
	});

	describe("a test", () => {
		test("leaves no row behind, and accepts what the export writes", async () => {
			const table_name = fresh();
			const { job: what, rows } = sampleOf("events");
			await write({ table_name }, what);
			await write({ table_name }, what, rows);
			await command(`truncate table ${quoted(table_name)}`);
			const steps = await to({ table_name }).test();
			expect(steps.at(-1)).toEqual({ name: "write", error: null });
			expect(await ask(`select count() as n from ${quoted(table_name)}`)).toBe('{"n":0}\n');
		});
	});

	describe("a test and a run report", () => {
		const columns: Column[] = [...KEY, { name: "n", kind: "number" }];
		const event: Row = [UUID, 7, 1.5];
		test.each<[string, () => Promise<object>, string, RegExp]>([
			[
				"a wrong password",
				async () => ({ password: "password" }),
				"sign in",
				/^The server rejects the credentials: check the user and the password\. 127\.0\.0\.1:\d+ answered 403: "Code: 516\. .*\*\*\* is incorrect/,
			],
			[
				"no such user",
				async () => ({ user: "somebody" }),
				"sign in",
				/^The server rejects the credentials/,
			],
			[
				"no such database",
				async () => ({ database: "nowhere" }),
				"sign in",
				/^There is no such database\. .* answered 404: "Code: 81\..* nowhere does not exist/,
			],
			[
				"a user that may only read",
				async () => ({ ...(await withTable("n Float64")), user: "reader" }),
				"write",
				/^The user or the server is read-only\. .* answered 500: "Code: 164\./,
			],
			[
				"a user that may make no table",
				async () => ({ table_name: fresh(), user: "writer" }),
				"write",
				/CREATE TABLE/,
			],
			[
				"a user that may only read, without a table",
				async () => ({ table_name: fresh(), user: "reader" }),
				"write",
				/may not create it|read-only/,
			],
			[
				"a table without a column",
				() => withTable("m Float64"),
				"write",
				/^The table lacks a column that the export writes\. .*No such column n/,
			],
			[
				"a column that doesn't accept a value",
				() => withTable("n UUID"),
				"write",
				/^The column n of the table .* doesn't accept a value of the export\. /,
			],
			[
				"a column that is computed",
				() => withTable("n Float64 materialized 1"),
				"write",
				/^A column of the table is computed/,
			],
			[
				"a rejection of something in between",
				async () => ({ url: `${env.RECEIVER_URL}/status/404` }),
				"sign in",
				/^127\.0\.0\.1:\d+ answered 404: "Oops"\.$/,
			],
		])("%s", async (_, prepare, step, words) => {
			const more = await prepare();
			const what = job({ columns });
			const steps = await to(more).test({ job: what, rows: [event] });
			expect(steps.at(-1)).toEqual({
				name: step,
				error: expect.stringMatching(words),
			});
			const failed = write(more, what, [event]);
			await expect(failed).rejects.toThrow(words);
			await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
		});
	});

	test.each<[string, () => Promise<object>, RegExp]>([
		[
			"too many parts",
			() =>
				withTable(
					"n Nullable(String)",
					"settings parts_to_throw_insert = 0, parts_to_delay_insert = 0",
				),
			/^The table has too many parts: .* "Code: 252\./,
		],
		[
			"a table that is read-only for now",
			async () => {
				const columns = "(uuid String, team_id Int64)";
				await command(
					`create table if not exists keeper_lost ${columns} engine = MergeTree order by uuid`,
				);
				return { table_name: "keeper_lost" };
			},
			/^The table is read-only for now: .* "Code: 242\./,
		],
		[
			"too little memory",
			async () => ({
				...(await withTable("n Nullable(String)")),
				url: `${access.url}/?max_memory_usage=100000&max_untracked_memory=1`,
			}),
			/^The server is short of memory\. .* "Code: 241\./,
		],
	])("%s is temporary", async (_, prepare, words) => {
		const more = await prepare();
		const what = job({ columns: KEY });
		const failed = write(more, what, Array(5000).fill([UUID, 7]));
		await expect(failed).rejects.toThrow(words);
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
	});

	test("many pages share an insert", async () => {
		const table_name = fresh();
		await run(to({ table_name }), job(), 5000);
		expect(
			await ask(
				`select count() as n from system.parts where table = '${table_name.replaceAll("\\", "\\\\")}'`,
			),
		).toBe('{"n":1}\n');
	});
});
