import { env } from "cloudflare:workers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Job } from "../../../src/exports/destinations/destination.ts";
import type { Column, Row } from "../../../src/exports/query/rows.ts";
import { MINUTE_MS } from "../../../src/lib/time.ts";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { clouds, ROLE } from "../../support/clouds.ts";
import {
	COLUMNS,
	destinationOf,
	job,
	listS3,
	rows,
	run,
	type Target,
} from "../../support/exporting.ts";
import { HANG_MS } from "../../support/hang.ts";
import { CLIENT, NAMESPACE } from "../../support/iceberg.ts";
import { seeded } from "../../support/random.ts";
import { expectExported, fromTable, withoutWaits } from "../engine/running.ts";
import { askIceberg, ICEBERG, missingIceberg } from "./adapters.ts";
import {
	AT_PROXY,
	ask,
	failing,
	filesOf,
	fresh,
	makeTable,
	metadataOf,
	others,
	summariesOf,
	to,
	windowOf,
	write,
} from "./iceberg_tables.ts";
import { write as writeTo } from "./table_cases.ts";

const noIceberg = await missingIceberg();

/** Compares what both readers find with the first `n` rows. */
async function expectRows(table: string, n: number) {
	const sql = `select uuid, event, properties, amount, team_id, paid, day::text as day, epoch_ms(timestamp) as at
		from t order by team_id`;
	const expected = rows(n).map(
		([uuid, event, properties, amount, team_id, paid, day, timestamp]) => ({
			...{ uuid, event, properties, amount, team_id, paid, day },
			at: timestamp === null ? null : Date.parse(String(timestamp)),
		}),
	);
	for (const reader of ["pyiceberg", "duckdb"] as const)
		expect(await askIceberg(reader, table, sql), reader).toEqual(expected);
}

/** Carries out a run like the engine, which continues after each error that may pass. */
async function persist(destination: Target, what: Job, n: number) {
	const errors: string[] = [];
	let state: unknown = null;
	for (;;) {
		const sink = await destination.open(what, structuredClone(state), async (next) => {
			state = structuredClone(next);
		});
		try {
			await sink.write(rows(n));
			await sink.close();
			return errors;
		} catch (error) {
			if (error instanceof MisconfiguredError || errors.length > 20) throw error;
			errors.push(String(error));
		} finally {
			sink.release?.();
		}
	}
}

describe.skipIf(noIceberg)(`Iceberg${noIceberg}`, () => {
	withoutWaits();

	test.each(["events", "persons"])(
		"%s are in the table as they were, for each reader",
		async (model) => {
			const table_name = fresh();
			const utc = (name: string, value: unknown) =>
				/(^timestamp|_at)$/.test(name) ? String(value).replace(/\+00:00$/, "") : value;
			await expectExported(
				{ type: "Iceberg", config: { ...ICEBERG, table_name } },
				model,
				async () => {
					const ask = (reader: "pyiceberg" | "duckdb") =>
						askIceberg(reader, table_name, "select * from t order by all");
					const found = (await ask("pyiceberg")) ?? [];
					expect(await ask("duckdb")).toEqual(found);
					return found.map((row) =>
						fromTable(
							model,
							Object.fromEntries(
								Object.entries(row).map(([name, value]) => [name, utc(name, value)]),
							),
						),
					);
				},
				2,
			);
			const [spec] = (await metadataOf(table_name))["partition-specs"];
			expect(spec.fields).toMatchObject([
				model === "events"
					? { name: "timestamp_day", transform: "day" }
					: { name: "person_id_bucket", transform: "bucket[8]" },
			]);
		},
	);

	test("rows of many days, nulls and all kinds of values are read by both readers", async () => {
		const table = fresh();
		await run(to(table), job(), 5000);
		await expectRows(table, 5000);
		// One file for each day: the rows without a time, and those of one day.
		expect(await filesOf(table)).toHaveLength(2);
		for (const reader of ["pyiceberg", "duckdb"] as const)
			expect(
				await askIceberg(
					reader,
					table,
					"select count(*) as n from t where timestamp < '2023-11-14T22:13:21Z'",
				),
			).toEqual([{ n: 941 }]);
	});

	test("a window that is exported again replaces its files in one commit", async () => {
		const table = fresh();
		const export_id = crypto.randomUUID();
		await write(table, windowOf(export_id, 0), rows(10));
		await write(table, windowOf(export_id, 1), rows(20).slice(10));
		const again = windowOf(export_id, 0, { isRepeat: true });
		await write(table, again, rows(10));
		await expectRows(table, 20);
		await write(table, again, rows(10).slice(0, 4));
		await write(table, windowOf(export_id, 1, { isRepeat: true }), []);
		await expectRows(table, 4);
		const summaries = await summariesOf(table);
		expect(summaries.map(({ operation }) => operation)).toEqual([
			"append",
			"append",
			"overwrite",
			"overwrite",
			"delete",
		]);
		expect(summaries.at(3)).toMatchObject({
			"tenantry.export": export_id,
			"tenantry.window": `${again.start}/${again.end}`,
			"tenantry.run": again.run_id,
			"added-records": "4",
			"deleted-records": "10",
			"total-records": "14",
		});
		// Readers of earlier snapshots still find their files.
		expect((await filesOf(table)).length).toBeGreaterThan(4);
	});

	test("a commit whose response is lost isn't made again", async () => {
		const table = fresh();
		const what = windowOf(crypto.randomUUID(), 0);
		await write(table, what, rows(3));
		for (const status of [0, 500, 502, 504]) {
			const next = windowOf(what.export_id, status + 1);
			await failing(table, { method: "POST", query: `tables/${table}`, status, carriedOut: true });
			expect(await persist(to(table, AT_PROXY), next, 3)).toHaveLength(1);
		}
		expect(await summariesOf(table)).toHaveLength(5);
		const [{ n } = { n: 0 }] =
			(await askIceberg("duckdb", table, "select count(*) as n from t")) ?? [];
		expect(n).toBe(15);
		// Rows without a time are in a file of their own.
		expect(await filesOf(table)).toHaveLength(2 * 5);
	});

	test("a commit that conflicts is made again, and its first manifests are removed", async () => {
		const table = fresh();
		await failing(table, { method: "POST", query: `tables/${table}`, status: 409, body: "{}" });
		expect(await persist(to(table, AT_PROXY), windowOf(crypto.randomUUID(), 0), 3)).toEqual([]);
		await expectRows(table, 3);
		const manifests = await listS3(`warehouse/${NAMESPACE}/${table}/metadata/`);
		expect(manifests.filter((key) => key.endsWith(".avro"))).toHaveLength(2);
	});

	test("exports that commit to a table at the same time all get their rows in", async () => {
		const table = fresh();
		const all = rows(48);
		await Promise.all(
			Array.from({ length: 4 }, async (_, i) => {
				const export_id = crypto.randomUUID();
				for (let n = 0; n < 3; n += 1) {
					const from = 12 * i + 4 * n;
					await write(table, windowOf(export_id, n), all.slice(from, from + 4));
				}
			}),
		);
		await expectRows(table, 48);
		const properties = Object.entries((await metadataOf(table)).properties);
		const windows = properties.filter(([name]) => /^tenantry\..*\.schedule$/.test(name));
		expect(windows.map(([, value]) => value)).toEqual(
			Array(4).fill("2024-01-01T00:00:00.000Z/2024-01-01T03:00:00.000Z"),
		);
	});

	test("what a killed attempt left is removed by the next one", async () => {
		const table = fresh();
		const what = windowOf(crypto.randomUUID(), 0);
		let state: unknown = null;
		await failing(table, { method: "POST", query: `tables/${table}`, status: 503 });
		const sink = await to(table, AT_PROXY).open(what, null, async (next) => {
			state = structuredClone(next);
		});
		await sink.write(rows(5));
		await expect(sink.close()).rejects.toThrow("answered 503");
		expect(await filesOf(table)).toHaveLength(2);
		const next = await to(table).open(what, state, async () => {});
		await next.write(rows(5));
		await next.close();
		await expectRows(table, 5);
		expect(await filesOf(table)).toHaveLength(2);
	});

	test("a window whose snapshot has expired is still known, and replaced", async () => {
		const table = fresh();
		const export_id = crypto.randomUUID();
		await write(table, windowOf(export_id, 0), rows(5));
		await write(table, windowOf(export_id, 1), rows(9).slice(5));
		await others("expire", table);
		expect(await summariesOf(table)).toHaveLength(1);
		await write(table, windowOf(export_id, 0, { isRepeat: true }), rows(5));
		await expectRows(table, 9);
	});

	test("a window whose files others have written anew fails instead of appearing twice", async () => {
		const table = fresh();
		const export_id = crypto.randomUUID();
		await write(table, windowOf(export_id, 0), rows(5));
		await others("rewrite", table);
		await others("expire", table);
		const again = windowOf(export_id, 0, { isRepeat: true });
		const property = `tenantry.${export_id}.schedule`;
		await expect(write(table, again, rows(5))).rejects.toThrow(
			`The window is already in the table ${NAMESPACE}.${table}, but in files that others have written since, such as a compaction, so it can't be replaced. Delete its rows and the table property ${property}, then retry the run.`,
		);
		await expectRows(table, 5);
		// Another window isn't affected.
		await write(table, windowOf(export_id, 1, { isRepeat: true }), rows(9).slice(5));
		await expectRows(table, 9);
		await others("drop", table);
		await write(table, again, rows(5));
		await expectRows(table, 5);
	});

	test("columns that the customer added stay, and are empty in new rows", async () => {
		const table = fresh();
		await write(table, windowOf(crypto.randomUUID(), 0), rows(2));
		const { schemas } = await metadataOf(table);
		const fields = [...schemas[0].fields, { id: 9, name: "note", type: "string", required: false }];
		await ask("POST", `/${table}`, {
			requirements: [],
			updates: [
				{ action: "add-schema", schema: { type: "struct", "schema-id": 1, fields } },
				{ action: "set-current-schema", "schema-id": -1 },
			],
		});
		await write(table, windowOf(crypto.randomUUID(), 1), rows(4).slice(2));
		await expectRows(table, 4);
		for (const reader of ["pyiceberg", "duckdb"] as const)
			expect(await askIceberg(reader, table, "select count(note) as n from t")).toEqual([{ n: 0 }]);
	});

	test.each([
		["identity", "event"],
		["identity", "team_id"],
		["identity", "day"],
		["identity", "paid"],
		["bucket[4]", "uuid"],
		["bucket[4]", "team_id"],
		["hour", "timestamp"],
		["month", "day"],
		["year", "timestamp"],
		["void", "event"],
	])(
		"a customer's table with the partition %s of %s is read by both",
		async (transform, source) => {
			const table = fresh();
			await makeTable(table, { partition: { name: "a-b c", transform, source } });
			// A file for each value is slow to read.
			const n = source === "team_id" && transform === "identity" ? 20 : 200;
			await run(to(table), job(), n);
			await expectRows(table, n);
			// DuckDB 1.4 skips files by the months of dates that have these dates, also those of pyiceberg.
			const where =
				transform === "month"
					? "day is not null"
					: source === "paid"
						? "paid"
						: `${source} >= (select ${source} from t where team_id = ${0.75 * n})`;
			const [one, two] = await Promise.all(
				(["pyiceberg", "duckdb"] as const).map((reader) =>
					askIceberg(reader, table, `select count(*) as n from t where ${where}`),
				),
			);
			expect(one).toEqual(two);
		},
	);

	test.each<[string, object]>([
		["a client's tokens, which expire", { token: null, ...CLIENT }],
		["signatures of AWS", { token: null, signing_name: "glue", region: "eu-north-1" }],
		[
			"signatures of a role, also for the files",
			{
				...{ token: null, aws_access_key_id: null, aws_secret_access_key: null },
				...{ signing_name: "glue", region: "eu-west-1", endpoint_url: null, role_arn: ROLE },
			},
		],
		[
			"credentials of the catalog for the files",
			{ aws_access_key_id: null, aws_secret_access_key: null, endpoint_url: null, region: null },
		],
	])("the catalog is used with %s", async (_, more) => {
		const table = fresh();
		const export_id = crypto.randomUUID();
		const settings = { ...ICEBERG, table_name: table, ...more };
		const given = Object.fromEntries(
			Object.entries(settings).filter(([, value]) => value !== null),
		);
		const subject = `organization:x:project:1:batch_export:${export_id}`;
		clouds({ sub: subject });
		onTestFinished(() => {
			vi.restoreAllMocks();
		});
		const destination = destinationOf(env, "Iceberg", given, { timeoutMs: HANG_MS, subject });
		const steps = await destination.test();
		expect(steps.filter(({ error }) => error !== null)).toEqual([]);
		for (const [n, page] of [rows(3), rows(6).slice(3)].entries())
			await writeTo(destination, windowOf(export_id, n), page);
		await expectRows(table, 6);
	});

	/** Windows in each of ten tables: 20, or 100 with `npm run fire:iceberg`. */
	const WINDOWS = Number(env.ICEBERG_WINDOWS);
	const TABLES = 10;
	const ROWS = 3;

	/** Exports a window. A kill comes when its state is saved for the n-th time. */
	async function carry(table: string, what: Job, page: Row[], killedAt: number) {
		let state: unknown = null;
		let saves = 0;
		for (let tries = 0; tries < 50; tries += 1) {
			const isRepeat = what.isRepeat || tries > 0;
			const sink = await to(table).open(
				{ ...what, isRepeat },
				structuredClone(state),
				async (next) => {
					state = structuredClone(next);
					saves += 1;
					if (saves === killedAt) throw new Error("killed");
				},
			);
			try {
				await sink.write([...page]);
				await sink.close();
				return;
			} catch (error) {
				if (error instanceof MisconfiguredError) throw error;
			} finally {
				sink.release?.();
			}
		}
		throw new Error("It never ends.");
	}

	/** Exports all windows of a table, some of them again. Returns how many responses were lost. */
	async function exportWindows(table: string, seed: number) {
		const export_id = crypto.randomUUID();
		const random = seeded(seed);
		const whole = (to: number) => Math.floor(random.between(0, to));
		const real = globalThis.fetch;
		let lost = 0;
		globalThis.fetch = async (input, init) => {
			const response = await real(input, init);
			if (!random.chance(0.05)) return response;
			lost += 1;
			await response.body?.cancel();
			throw new Error("Network connection lost.");
		};
		const all = rows(WINDOWS * ROWS);
		const killed = whole(WINDOWS);
		const again = [3, WINDOWS / 2, WINDOWS - 2];
		try {
			const windows = Array.from({ length: WINDOWS }, (_, n) => n);
			for (const [i, n] of [...windows, ...again].entries()) {
				const page = all.slice(ROWS * n, ROWS * (n + 1));
				const what = windowOf(export_id, n, { isRepeat: i >= WINDOWS });
				await carry(table, what, page, i === killed ? 1 + whole(2) : 0);
			}
		} finally {
			globalThis.fetch = real;
		}
		return lost;
	}

	test.each(Array.from({ length: TABLES }, (_, seed) => [seed]))(
		"each window is there once after a kill and lost responses: table %i",
		{ timeout: 5 * MINUTE_MS },
		async (seed) => {
			const table = fresh();
			expect(await exportWindows(table, seed)).toBeGreaterThan(WINDOWS / 10);
			const n = WINDOWS * ROWS;
			for (const reader of ["pyiceberg", "duckdb"] as const)
				expect(
					await askIceberg(
						reader,
						table,
						"select count(*) as n, count(distinct uuid) as uuids, sum(team_id)::bigint as teams from t",
					),
					reader,
				).toEqual([{ n, uuids: n, teams: (n * (n - 1)) / 2 }]);
		},
	);

	test("columns with the names of others, and a table without times, are written", async () => {
		const table = fresh();
		const columns: Column[] = [
			{ name: "uuid", kind: "text" },
			{ name: "größe in %", kind: "integer" },
			{ name: "a.b", kind: "json" },
		];
		await writeTo(to(table), windowOf(crypto.randomUUID(), 0, { columns }), [
			["1", 9223372036854775807n, "{}"],
			["2", -9223372036854775808n, null],
			["3", 9007199254740993n, '"ö😀"'],
		]);
		for (const reader of ["pyiceberg", "duckdb"] as const)
			expect(
				await askIceberg(
					reader,
					table,
					'select uuid, "größe in %"::text as n, "a.b" as j from t order by uuid',
				),
			).toEqual([
				{ uuid: "1", n: "9223372036854775807", j: "{}" },
				{ uuid: "2", n: "-9223372036854775808", j: null },
				{ uuid: "3", n: "9007199254740993", j: '"ö😀"' },
			]);
		expect(COLUMNS.length).toBeGreaterThan(columns.length);
	});
});
