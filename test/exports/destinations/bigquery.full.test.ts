import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { connect } from "../../../src/exports/destinations/bigquery/client.ts";
import type { State } from "../../../src/exports/destinations/bigquery/writer.ts";
import type { Job } from "../../../src/exports/destinations/destination.ts";
import { workloadOf } from "../../../src/exports/destinations/roles/workload.ts";
import { sampleOf } from "../../../src/exports/destinations/sample.ts";
import type { Column, Row } from "../../../src/exports/query/rows.ts";
import { MisconfiguredError, SupersededError } from "../../../src/outbound/errors.ts";
import { ACCOUNT } from "../../support/bigquery.ts";
import { destinationOf, job, rows, run, type Target } from "../../support/exporting.ts";
import { HANG_MS } from "../../support/hang.ts";
import { missing } from "../../support/missing.ts";
import { expectExported, fromTable, withoutWaits } from "../engine/running.ts";
import { testTables, write as writeTo } from "./table_cases.ts";

const noBigQuery = await missing("BigQuery", `${env.BIGQUERY_URL}/sql`, {
	method: "POST",
	body: "select 1 as one",
});

const fresh = () => `t-${crypto.randomUUID()}`;

/** A config for a table. `faults`: how the API fails. */
const config = (more: object = {}, faults = "") => ({
	...ACCOUNT,
	private_key: env.BIGQUERY_PRIVATE_KEY,
	token_uri: `${env.BIGQUERY_URL}/token`,
	endpoint_url: faults
		? `${env.BIGQUERY_URL}/faults/${faults}/${crypto.randomUUID()}`
		: env.BIGQUERY_URL,
	...more,
});

const to = (more: object = {}, faults = "", timeoutMs = HANG_MS) =>
	destinationOf(env, "BigQuery", config(more, faults), { timeoutMs });

/** The result of SQL. `exports` names a table in it. */
async function ask(sql: string): Promise<Record<string, string | null>[]> {
	const response = await fetch(`${env.BIGQUERY_URL}/sql`, {
		method: "POST",
		body: sql,
	});
	const text = await response.text();
	if (!response.ok) throw new Error(text);
	return JSON.parse(text);
}

const tables = async () =>
	(await ask("select table_name from exports.INFORMATION_SCHEMA.TABLES")).map(({ table_name }) =>
		String(table_name),
	);

const jobsOf = async (table: string): Promise<{ id: string; kind: string }[]> =>
	JSON.parse(await (await fetch(`${env.BIGQUERY_URL}/jobs/${table}`)).text());

/** Writes pages as one run. */
const write = (more: object, what: Job, ...pages: Row[][]) => writeTo(to(more), what, ...pages);

const sum = (all: Row[], of: (row: Row, i: number) => number) =>
	all.reduce((total, row, i) => total + of(row, i), 0);

/** Compares a table with the first `n` rows. */
async function expectRows(table_id: string, n: number) {
	const [found] = await ask(
		`select count(*) as n, count(distinct uuid) as uuids, sum(amount) as amount, sum(team_id) as ids, countif(paid is not null) as paid,
		countif(day = date '2024-02-29') as days, countif(timestamp > timestamp '2023-01-01') as times,
		sum(length(properties)) as properties, to_hex(md5(string_agg(concat(uuid, event), '' order by uuid))) as text
		from exports.\`${table_id}\``,
	);
	const all = rows(n);
	const text = all.map(([uuid, event]) => `${uuid}${event}`).join("");
	const md5 = await crypto.subtle.digest("MD5", Buffer.from(text));
	const numbers = Object.fromEntries(
		Object.entries(found ?? {}).map(([name, value]) => [
			name,
			name === "text" ? value : Number(value),
		]),
	);
	expect(numbers).toEqual({
		n,
		uuids: n,
		amount: sum(all, (row) => Number(row[3])),
		ids: sum(all, (row) => Number(row[4])),
		paid: sum(all, (row) => (row[5] === null ? 0 : 1)),
		days: sum(all, (row) => (row[6] === null ? 0 : 1)),
		times: sum(all, (row) => (row[7] === null ? 0 : 1)),
		properties: sum(all, (row) => String(row[2] ?? "").length),
		text: Buffer.from(md5).toString("hex"),
	});
}

const isState = (state: unknown): state is State =>
	typeof state === "object" && state !== null && "staging" in state;

/**
 * Feeds `n` rows through a destination as the engine does, in pages of 1,000, and goes on from the
 * last kept state after each error that may pass. Answers those errors, and the states that were
 * kept.
 */
async function persist(destination: Target, what: Job, n: number) {
	const errors: unknown[] = [];
	const states: State[] = [];
	let position = 0;
	const keep = (state: unknown) => {
		const copy: unknown = JSON.parse(JSON.stringify(state));
		if (isState(copy)) states.push(copy);
	};
	while (errors.length < 200) {
		const sink = await destination.open(what, states.at(-1) ?? null, async (state) => keep(state));
		try {
			for (let end = position; end < n; ) {
				const page = rows(n).slice(end, end + 1000);
				end += page.length;
				const state = await sink.write(page);
				if (state === null) continue;
				keep(state);
				position = end;
			}
			await sink.close();
			return { errors, states };
		} catch (error) {
			if (error instanceof MisconfiguredError) throw error;
			errors.push(error);
		}
	}
	throw errors.at(-1);
}

/** A key that no service account has. */
async function otherKey() {
	const pair = await crypto.subtle.generateKey(
		{
			name: "RSASSA-PKCS1-v1_5",
			modulusLength: 2048,
			publicExponent: new Uint8Array([1, 0, 1]),
			hash: "SHA-256",
		},
		true,
		["sign", "verify"],
	);
	if (!("privateKey" in pair)) throw new Error("No pair of keys.");
	const bytes = await crypto.subtle.exportKey("pkcs8", pair.privateKey);
	if (!(bytes instanceof ArrayBuffer)) throw new Error("No bytes.");
	return `-----BEGIN PRIVATE KEY-----\n${Buffer.from(bytes).toString("base64")}\n-----END PRIVATE KEY-----\n`;
}

const OTHER_KEY = await otherKey();

const staging = async () => (await tables()).filter((name) => name.startsWith("tenantry_"));

const STEPS = ["reach", "sign in", "write", "remove"].map((name) => ({ name, error: null }));

/** The types of the columns of `job()`. */
const TYPES = [
	"uuid STRING",
	"event STRING",
	"properties STRING",
	"amount FLOAT64",
	"team_id INT64",
	"paid BOOL",
	"day DATE",
	"timestamp TIMESTAMP",
];

const columnsOf = async (table_id: string) =>
	(
		await ask(
			`select column_name, data_type from exports.INFORMATION_SCHEMA.COLUMNS where table_name = '${table_id}' order by ordinal_position`,
		)
	).map((one) => Object.values(one).join(" "));

describe.skipIf(noBigQuery)(`BigQuery${noBigQuery}`, () => {
	testTables({
		fresh,
		to: (table_id) => to({ table_id }),
		select: (columns, table) => ask(`select ${columns} from exports.\`${table}\` order by uuid`),
		columnsOf,
		types: TYPES,
		text: "string",
	});

	test("holds 60,001 rows once each, whatever crashes, and no staging table", async () => {
		const table_id = fresh();
		await run(to({ table_id }), job(), 60_001, { crashes: true });
		await expectRows(table_id, 60_001);
		expect(await staging()).toEqual([]);
	});

	test("a run without rows makes no table", async () => {
		const table_id = fresh();
		await run(to({ table_id }), job(), 0);
		expect(await tables()).not.toContain(table_id);
	});

	test("a run needs few load jobs and one MERGE", async () => {
		const table_id = fresh();
		const { states } = await persist(to({ table_id }), job(), 60_000);
		const jobs = await jobsOf(states.at(-1)?.staging ?? "");
		expect(jobs.map(({ kind }) => kind)).toEqual([...["load", "load", "load"], "query"]);
		await expectRows(table_id, 60_000);
	});

	test("with use_json_type, columns of JSON have its type", async () => {
		const table_id = fresh();
		await run(to({ table_id, use_json_type: true }), job(), 1);
		expect(await columnsOf(table_id)).toEqual(TYPES.with(2, "properties JSON"));
	});

	test("the highest version of a person stays, whichever arrives last", async () => {
		const table_id = fresh();
		const columns: Column[] = [
			{ name: "team_id", kind: "integer" },
			{ name: "distinct_id", kind: "text" },
			{ name: "properties", kind: "json" },
			{ name: "person_version", kind: "integer" },
		];
		const what = job({ model: "persons", columns });
		await write({ table_id }, what, [
			[1, "a", '"two"', 2],
			[1, "a", '"one"', 1],
			[2, "a", '"other"', 10],
			[2, "b", '"nine"', 9],
		]);
		await write({ table_id }, what, [
			[2, "a", '"older"', 9],
			[2, "b", '"ten"', 10],
		]);
		expect(
			await ask(
				`select team_id, distinct_id, properties from exports.\`${table_id}\` order by 1, 2`,
			),
		).toEqual([
			{ team_id: "1", distinct_id: "a", properties: '"two"' },
			{ team_id: "2", distinct_id: "a", properties: '"other"' },
			{ team_id: "2", distinct_id: "b", properties: '"ten"' },
		]);
	});

	const AWKWARD: Column[] = [
		{ name: "uuid", kind: "text" },
		{ name: "properties", kind: "json" },
		{ name: "amount", kind: "number" },
		{ name: "number", kind: "integer" },
		{ name: "timestamp", kind: "timestamp" },
		{ name: "day", kind: "date" },
	];

	test("no value makes a run fail, and every digit is kept", async () => {
		const table_id = fresh();
		const json = '{"id":1234567890123456789012,"text":"\\u0000 \\ud83d"}';
		await write({ table_id }, job({ columns: AWKWARD }), [
			["1", json, 1e300, 2 ** 53, "0001-01-01T00:00:00.000Z", "0001-01-01"],
			["2\0\ud83d`\\'\n", "not JSON", -0.1, -1, "2024-02-29T00:00:00Z", null],
			["3", null, null, null, "+010000-01-01T00:00:00.000Z", "tomorrow"],
		]);
		const found = await ask(
			`select uuid, properties, amount, number, extract(year from timestamp) as year, day from exports.\`${table_id}\` order by uuid`,
		);
		expect(found.map((row) => Object.values(row))).toEqual([
			["1", json, "1e+300", String(2 ** 53), "1", "0001-01-01"],
			["2\ufffd\ufffd`\\'\n", "not JSON", "-0.1", "-1", "2024", null],
			["3", null, null, null, null, null],
		]);
	});

	test("with use_json_type, JSON is JSON, and other text is a JSON string", async () => {
		const table_id = fresh();
		const columns = AWKWARD.slice(0, 2);
		await write({ table_id, use_json_type: true }, job({ columns }), [
			["1", '{"a": [1, {"b": null}]}'],
			["2", "not JSON"],
			["3", null],
		]);
		expect(
			await ask(
				`select json_value(properties, '$.a[0]') as a, to_json_string(properties) as text from exports.\`${table_id}\` order by uuid`,
			),
		).toMatchObject([{ a: "1" }, { a: null, text: '"not JSON"' }, { a: null, text: null }]);
	});

	test("an existing table keeps its types and its other columns", async () => {
		const table_id = fresh();
		await ask(
			`create table exports.\`${table_id}\` (mine STRING, UUID STRING, event STRING, properties JSON, amount NUMERIC, team_id STRING, paid STRING, day DATETIME, timestamp DATE)`,
		);
		await run(to({ table_id }), job(), 2);
		expect(
			await ask(
				`select mine, uuid as uuid, json_value(properties, '$.n') as n, amount, team_id, paid, cast(day as string) as day, cast(timestamp as string) as timestamp from exports.\`${table_id}\` order by uuid desc limit 1`,
			),
		).toEqual([
			{
				mine: null,
				uuid: rows(2)[1]?.[0],
				n: "1",
				amount: "0.125",
				team_id: "1",
				paid: "false",
				day: "2024-02-29 00:00:00",
				timestamp: "2023-11-14",
			},
		]);
	});

	test("a value that its column can't hold is null and counted", async () => {
		const table_id = fresh();
		const types = {
			uuid: "STRING",
			n: "NUMERIC",
			f: "FLOAT64",
			day: "DATE",
			at: "DATETIME",
			p: "JSON",
		};
		// By the API: the stand-in doesn't know the types of tables that SQL created.
		const connection = { env, timeoutMs: HANG_MS, workload: workloadOf(env, null) };
		await connect(connection, config({ table_id })).createTable(
			table_id,
			Object.entries(types).map(([name, type]) => ({ name, type })),
		);
		const columns: Column[] = [
			{ name: "uuid", kind: "text" },
			{ name: "n", kind: "number" },
			{ name: "f", kind: "integer" },
			{ name: "day", kind: "timestamp" },
			{ name: "at", kind: "text" },
			{ name: "p", kind: "json" },
		];
		const row: Row = [
			"1",
			1e-10,
			9007199254740993n,
			"2024-12-31T23:59:59.999Z",
			"2024-01-01T00:00:00+02:00",
			'{"a":0.1234567890123456789}',
		];
		const sink = await to({ table_id }).open(job({ columns }), null, async () => {});
		await sink.write([row, ["2", 1.5, 7, null, "now", null]]);
		const words =
			"Written as null, because the column can't hold them: 4 values in n (1), f (1), p (1), at (1).";
		expect(sink.unfit).toBe(4);
		expect(await sink.close()).toEqual({ warnings: [words] });
		const found = await ask(`select * from exports.\`${table_id}\` order by uuid`);
		expect(found.map((row) => Object.values(row))).toEqual([
			["1", null, null, "2024-12-31", "2023-12-31T22:00:00", '{"a":null}'],
			["2", "1.500000000", "7.0", null, null, null],
		]);
		const steps = await to({ table_id }).test({ job: job({ columns }), rows: [row] });
		expect(steps.at(-2)).toHaveProperty("warning", expect.stringContaining("n (1), f (1)"));
	});

	describe("exactly once, even if the API fails:", () => {
		test.each([
			["503", "answered 503", 3000],
			["dropped", "connection", 30_000],
			["rate", "Too many requests", 3000],
			["job-backend", "An internal error occurred", 3000],
			["job-conflict", "concurrent update", 3000],
			["job-backend,dropped", "connection", 3000],
		])("%s", async (fault, words, n) => {
			const table_id = fresh();
			const { errors, states } = await persist(to({ table_id }, fault), job(), n);
			expect(errors.join("\n")).toContain(words);
			await expectRows(table_id, n);
			for (const { staging } of states) expect(await tables()).not.toContain(staging);
		});

		test("a token that expires during a run is replaced", async () => {
			const table_id = fresh();
			const destination = to({ table_id }, "expired");
			await run(destination, job(), 3000);
			await expectRows(table_id, 3000);
		});

		test("a run that is repeated after its end does nothing", async () => {
			const table_id = fresh();
			const what = job();
			const { states } = await persist(to({ table_id }), what, 1000);
			const [begun] = states;
			await ask(`delete from exports.\`${table_id}\` where true`);
			const sink = await to({ table_id }).open(what, begun, async () => {});
			await sink.write(rows(1000));
			await sink.close();
			expect(await tables()).not.toContain(begun?.staging);
			expect(await ask(`select count(*) as n from exports.\`${table_id}\``)).toEqual([{ n: "0" }]);
		});

		test("a repeated run that reads other rows writes those, too", async () => {
			const table_id = fresh();
			const what = job();
			const { states } = await persist(to({ table_id }), what, 1000);
			const [begun] = states;
			const sink = await to({ table_id }).open(what, begun, async () => {});
			await sink.write(rows(2000));
			await sink.close();
			await expectRows(table_id, 2000);
			expect(await tables()).not.toContain(begun?.staging);
		});
	});

	test("a superseded attempt creates no table", async () => {
		const before = await tables();
		const sink = await to().open(job(), null, async () => {
			throw new SupersededError();
		});
		await sink.write(rows(1));
		await expect(sink.close()).rejects.toBeInstanceOf(SupersededError);
		expect(await tables()).toEqual(before);
	});

	test("an aborted run leaves nothing, and can be aborted twice", async () => {
		const table_id = fresh();
		const destination = to({ table_id });
		const what = job();
		const { state } = await run(destination, what, 40_000, { until: 35_000 });
		expect(state.rows).toBeGreaterThan(20_000);
		expect(await tables()).not.toContain(state.staging);
		expect(await tables()).not.toContain(table_id);
		await destination.abort(what, state);
	});

	test("a run fails if its staging table was removed, and a retry starts over", async () => {
		const what = job();
		const { state } = await run(to(), what, 40_000, { until: 35_000 });
		const sink = await to().open(what, state, async () => {});
		await sink.write(rows(1));
		const failed = sink.close();
		await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
		await expect(failed).rejects.toThrow("Retry the run.");
	});

	describe.each(["events", "persons"] as const)("exported %s", (model) => {
		withoutWaits();
		test("equal the ingested ones, however often they come", async () => {
			const table_id = fresh();
			// An answer of the API has at most 1,000 rows.
			const page = (offset: number) =>
				ask(
					`select * from exports.\`${table_id}\` order by ${model === "events" ? "uuid" : "distinct_id"} limit 1000 offset ${offset}`,
				);
			const read = async () =>
				[...(await page(0)), ...(await page(1000))].map((row) => fromTable(model, row));
			await expectExported({ type: "BigQuery", config: config({ table_id }) }, model, read, 2);
		});
	});

	test("a test leaves nothing, whether the table exists or not", async () => {
		const table_id = fresh();
		const before = await tables();
		expect(await to({ table_id }).test()).toEqual(STEPS);
		expect(await tables()).toEqual(before);
		const { job: what, rows: sample } = sampleOf("events");
		await write({ table_id }, what, sample);
		expect(await to({ table_id }).test()).toEqual(STEPS);
		expect(await to({ table_id }).test(sampleOf("events"))).toEqual(STEPS);
		expect(await tables()).toEqual([...before, table_id].sort());
		expect(await ask(`select count(*) as n from exports.\`${table_id}\``)).toEqual([{ n: "1" }]);
	});

	test("a test reports that the table lacks a column", async () => {
		const table_id = fresh();
		await ask(`create table exports.\`${table_id}\` (uuid STRING)`);
		const before = await tables();
		const steps = await to({ table_id }).test();
		expect(steps.at(-1)).toEqual({
			name: "write",
			error: `The table exports.${table_id} lacks the column event, which the export writes.`,
		});
		expect(await tables()).toEqual(before);
		await expect(run(to({ table_id }), job(), 1)).rejects.toThrow("lacks the column event");
	});

	const [address = ""] = env.BIGQUERY_URL.match(/[^/]+$/) ?? [];
	test.each([
		[
			"a key of somebody else",
			{ private_key: OTHER_KEY },
			"",
			"sign in",
			`The service account's key was rejected: it was deleted, it belongs to another client_email, or a clock is wrong. ${address} says: Invalid JWT Signature. You sent ***.`,
		],
		[
			"another service account",
			{ client_email: "x@example.com" },
			"",
			"sign in",
			"belongs to another client_email",
		],
		[
			"a token_uri that leads to no token server",
			{ token_uri: `${env.RECEIVER_URL}/status/404` },
			"",
			"sign in",
			"doesn't respond like a token server (status 404): check token_uri.",
		],
		[
			"a missing dataset",
			{ dataset_id: "nowhere" },
			"",
			"write",
			`There is no dataset nowhere in the project project-of-nobody. ${address} says: Not found: Dataset project-of-nobody:nowhere.`,
		],
		[
			"an API that is another",
			{ endpoint_url: `${env.RECEIVER_URL}/batches` },
			"",
			"write",
			"a response that isn't BigQuery's (status 200)",
		],
		[
			"no right to run jobs",
			{},
			"no-job-user",
			"write",
			"The service account needs the role BigQuery Job User in the project project-of-nobody.",
		],
		[
			"no right to make tables",
			{},
			"no-data-editor",
			"write",
			"The service account needs the role BigQuery Data Editor for the dataset exports",
		],
		["no billing", {}, "no-billing", "write", "Enable billing for the project project-of-nobody"],
		[
			"a disabled API",
			{},
			"disabled",
			"write",
			"The BigQuery API is disabled in the project project-of-nobody: enable it.",
		],
		[
			"a token that isn't taken",
			{},
			"rejected",
			"write",
			`BigQuery rejects the access token. ${address} says: Request had invalid authentication credentials: ***.`,
		],
	])("a test and a run report %s", async (_, more, fault, name, words) => {
		const steps = await to(more, fault).test();
		expect(steps.at(-1)).toEqual({
			name,
			error: expect.stringContaining(words),
		});
		expect(steps.slice(0, -1)).toEqual(
			STEPS.slice(
				0,
				STEPS.findIndex((step) => step.name === name),
			),
		);
		const failed = run(to(more, fault), job(), 1);
		await expect(failed).rejects.toThrow(words);
		await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
		expect(JSON.stringify(steps)).not.toContain("token-");
		expect((await tables()).join("\n")).not.toContain("tenantry_trial_");
	});

	test.each([
		["a used up quota", "quota", "A quota of the project"],
		["a server that is down", "down", "answered 503"],
	])("%s is temporary", async (_, fault, words) => {
		const failed = run(to({}, fault), job(), 1);
		await expect(failed).rejects.toThrow(words);
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
	});

	/** A server whose responses end too early. */
	const cut = `${env.RECEIVER_URL}/body/200/${Buffer.from('{"location": "E').toString("base64url")}`;
	test.each([
		["BigQuery", { endpoint_url: cut }],
		["the token server", { token_uri: cut }],
	])("a cut response of %s is temporary", async (_, more) => {
		const failed = run(to(more), job(), 1);
		await expect(failed).rejects.toThrow(`${new URL(cut).host} answered 200`);
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
	});
});
