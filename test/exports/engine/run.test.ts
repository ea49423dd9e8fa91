import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import pg from "pg";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { sendDueDigests as sendDigests } from "../../../src/activity/notifications/digest.ts";
import {
	batchExportBackfills,
	batchExportDays,
	batchExportRuns,
	batchExports,
} from "../../../src/db/schema/batch_exports.ts";
import { events } from "../../../src/db/schema/events.ts";
import { pauseIfFailing } from "../../../src/exports/engine/auto_pause.ts";
import { clean } from "../../../src/exports/engine/clean.ts";
import { afterRun, continueRun, giveUp } from "../../../src/exports/engine/run.ts";
import { runDueExports as tick } from "../../../src/exports/engine/schedule.ts";
import type { RunLease } from "../../../src/exports/engine/start_runs.ts";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { fill } from "../../support/events.ts";
import { listR2, noPostgres, received } from "../../support/exporting.ts";
import { storedEntries } from "../../support/logs.ts";
import { outbox } from "../../support/mail.ts";
import { systemEvents } from "../../support/system_events.ts";
import { eventually, stopClock, withoutPatience } from "../../support/time.ts";
import { addBackfills, addRuns, db, join, rowIdOf, rowOf, world } from "../../support/world.ts";
import { ask, config as POSTGRES, quoted, withTable } from "../destinations/postgres_tables.ts";
import {
	atPart,
	BIG,
	carried,
	checksum,
	eventsOf,
	expectInR2,
	expectInS3,
	exporting,
	FILE,
	fetched,
	fileOf,
	HOUR,
	HTTP,
	type Json,
	large,
	launched,
	opened,
	parse,
	partOf,
	R2,
	withoutWaits,
} from "./running.ts";

withoutWaits();

describe("the exported rows equal the ingested events", () => {
	test.each([
		[{}, "events", ".jsonl"],
		[{ compression: "gzip" }, "persons", ".jsonl.gz"],
		[{ file_format: "CSV" }, "events", ".csv"],
		[{ file_format: "Parquet", compression: "zstd" }, "persons", ".parquet"],
	])("in R2: %j, %s", (config, model, suffix) => expectInR2(config, model, suffix));

	test("in S3", () => expectInS3({ compression: "gzip" }, "events", ".jsonl.gz"));

	test("events, over HTTP", async () => {
		const path = `/batches/${v7()}`;
		const { project, backfill } = await exporting(HTTP(path), 2345);
		const expected = await eventsOf(project);
		expect(await backfill()).toMatchObject({
			status: "Completed",
			records_completed: expected.length,
		});
		const requests = await received(path);
		expect(requests[0]?.headers.authorization).toBe("Bearer the-token-of-nobody");
		const rows = requests.flatMap(({ text }) => JSON.parse(text).batch);
		expect(await checksum(rows)).toBe(await checksum(expected));
	});

	test("with null for a number that its column can't hold, which the log counts", async () => {
		const { ask, here, path, project, backfill } = await exporting(R2(), 0, {
			xql_query: "SELECT uuid, toInt(properties.n) AS n FROM events",
		});
		const kept = ["-9223372036854775808", "7", "9007199254740993", "9223372036854775807"];
		await ask("POST", `/api/projects/${project}/events`, {
			raw: [...kept, "1e300", "9223372036854775808", "-9223372036854775809"]
				.map(
					(n) =>
						`{"event": "e", "distinct_id": "d", "timestamp": "${HOUR.start_at}", "properties": {"n": ${n}}}`,
				)
				.join("\n"),
			headers: { "content-type": "application/x-ndjson" },
		});
		expect(await backfill()).toMatchObject({
			status: "Completed",
			records_completed: 7,
		});
		const written = [...(await fileOf(project)).matchAll(/"n":([^}]+)/g)].map(([, n]) => n);
		expect(written.sort()).toEqual([...kept, "null", "null", "null"].sort());
		const { body } = await here("GET", `${path}/logs?search=null`);
		expect(body.results).toMatchObject([
			{ message: expect.stringMatching(/as null, .*: 3 values\.$/) },
		]);
	});

	test("with every digit of their numbers, and null for person_properties that were not sent", async () => {
		const { ask, project, backfill } = await exporting(R2(), 0);
		const event = (name: string, more: string) =>
			`{"event": "${name}", "distinct_id": "d", "timestamp": "${HOUR.start_at}", ${more}}`;
		await ask("POST", `/api/projects/${project}/events`, {
			raw: [
				event("none", '"properties": {"id": 1234567890123456789}'),
				event("null", '"person_properties": null'),
				event("empty", '"person_properties": {}'),
				event("some", '"person_properties": {"a": ""}'),
			].join("\n"),
			headers: { "content-type": "application/x-ndjson" },
		});
		await backfill();
		const file = await fileOf(project);
		expect(file).toContain('"properties":{"id":1234567890123456789}');
		expect(
			Object.fromEntries(parse(file).map((row) => [row.event, row.person_properties])),
		).toEqual({ none: null, null: null, empty: {}, some: { a: "" } });
	});

	test.skipIf(noPostgres)(
		`events, in PostgreSQL, however often they come${noPostgres}`,
		async () => {
			const table_name = `events ${v7()}`;
			const { project, backfill } = await exporting(
				{ type: "Postgres", config: { ...POSTGRES, table_name } },
				1234,
				{ xql_query: "SELECT event, properties.i AS i, timestamp FROM events" },
			);
			for (let n = 0; n < 2; n += 1)
				expect(await backfill()).toMatchObject({
					status: "Completed",
					records_completed: 1234,
				});
			const rows = await ask(`select * from ${quoted(table_name)}`);
			const expected = (await eventsOf(project)).map(({ uuid, event, properties, timestamp }) => ({
				uuid,
				event,
				i: Object(properties).i,
				timestamp,
				team_id: String(project),
			}));
			expect(
				await checksum(
					rows.map((row) => ({
						...row,
						timestamp: row.timestamp.toISOString(),
					})),
				),
			).toBe(await checksum(expected));
		},
	);

	test.skipIf(noPostgres)(
		`with null for a value that a database column can't hold, which the run and its log count${noPostgres}`,
		async () => {
			const { more, table } = await withTable("team_id bigint, n smallint");
			const home = await exporting({ type: "Postgres", config: { ...POSTGRES, ...more } }, 0, {
				xql_query: "SELECT toInt(properties.n) AS n FROM events",
			});
			await home.ask("POST", `/api/projects/${home.project}/events`, {
				body: [7, 32_768, -32_769].map((n) => ({
					event: "e",
					distinct_id: "d",
					timestamp: HOUR.start_at,
					properties: { n },
				})),
			});
			const { id } = await home.backfill();
			const [run] = await db.select().from(batchExportRuns).where(eq(batchExportRuns.id, id));
			expect(run).toMatchObject({ status: "Completed", records_completed: 3, unfit_values: 2 });
			const { body } = await home.here("GET", `${home.path}/logs?search=null`);
			const words = "Written as null, because the column can't hold them: 2 values";
			const messages = body.results.map(({ message }: { message: string }) => message).join("\n");
			expect(messages).toContain(`. ${words}.`);
			expect(messages).toContain(`${words} in n (2).`);
			const stored = await ask(`select n from ${table} order by n`);
			expect(stored).toEqual([{ n: 7 }, { n: null }, { n: null }]);
		},
	);

	test("with a filter, and with a query", async () => {
		const { project, backfill } = await exporting(
			R2({
				include_events: ["event 1", "event 2"],
				exclude_events: ["event 2"],
			}),
			500,
			{
				xql_query:
					"SELECT uuid, upper(event) AS name, properties.i * 2 AS twice, toDate(timestamp) AS day FROM events",
			},
		);
		expect(await backfill()).toMatchObject({ records_completed: 50 });
		const rows = parse(await fileOf(project));
		const expected = (await eventsOf(project))
			.filter(({ event }) => event === "event 1")
			.map(({ uuid, properties }) => ({
				uuid,
				name: "EVENT 1",
				twice: Number(Object(properties).i) * 2,
				day: "2026-01-01",
			}));
		expect(await checksum(rows)).toBe(await checksum(expected));
	});

	test("with a query's condition: the rows that were counted, and no others", async () => {
		const { project, backfill } = await exporting(R2(), 2500, {
			xql_query:
				"SELECT uuid, event FROM events WHERE event IN ('event 1', 'event 2') AND properties.i < 1500",
		});
		expect(await backfill()).toMatchObject({
			status: "Completed",
			records_completed: 300,
			records_total_count: 300,
		});
		const rows = parse(await fileOf(project));
		const expected = (await eventsOf(project))
			.filter(
				({ event, properties }) =>
					["event 1", "event 2"].includes(String(event)) && Number(Object(properties).i) < 1500,
			)
			.map(({ uuid, event }) => ({ uuid, event }));
		expect(await checksum(rows)).toBe(await checksum(expected));
	});

	test("a step whose rows are all filtered out by a query's condition ends as others do, and the next one continues", async () => {
		const home = await exporting(R2(), 5000, {
			xql_query: "SELECT uuid FROM events WHERE properties.i = 4999",
		});
		const { run, find } = await launched(home.export_id);
		const step = async () =>
			continueRun(await opened(run), { pages: 2, until: Number.POSITIVE_INFINITY });
		expect(await step()).toBe(0);
		const { cursor } = await find();
		expect(cursor).not.toBeNull();
		expect(await step()).toBe(0);
		expect((await find()).cursor).not.toBe(cursor);
		expect(await step()).toBeNull();
		expect(await find()).toMatchObject({
			status: "Completed",
			records_completed: 1,
			records_total_count: 1,
		});
		expect(await listR2(`${home.project}/`)).toHaveLength(1);
	});

	test("the log has the number of rows, the time it took, and the files", async () => {
		const { here, path, project, backfill } = await exporting(R2(), 1);
		await backfill();
		const { body } = await here("GET", `${path}/logs?search=complete: `);
		expect(body.results).toMatchObject([
			{
				level: "INFO",
				message: expect.stringMatching(/: 1 row, \d{3} bytes, [\d.]+ seconds?, attempt 1, in /),
			},
		]);
		expect(body.results[0].message).toContain(
			`The run of ${HOUR.start_at} to ${HOUR.end_at} is complete: `,
		);
		expect(body.results[0].message).toContain(`, in ${project}/out/${FILE}-backfill.jsonl.`);
	});

	test("a scheduled run exports what arrived in its window, whenever it happened", async () => {
		const { project, export_id, ended } = await exporting(R2(), 10);
		await db
			.update(events)
			.set({ timestamp: "2020-01-01T00:00:00.000Z" })
			.where(eq(events.team_id, project));
		await fill(project, 5, {
			start: "2026-01-01T13:00:00.000Z",
			end: "2026-01-01T14:00:00.000Z",
		});
		await db
			.update(batchExports)
			.set({ next_start_at: HOUR.start_at, next_end_at: HOUR.end_at, due_at: HOUR.end_at })
			.where(eq(batchExports.uuid, export_id));
		await tick(env, Date.parse("2026-01-01T13:06:00Z"));
		expect(await ended()).toMatchObject([
			{
				status: "Completed",
				records_completed: 10,
				data_interval_start: HOUR.start_at,
				data_interval_end: HOUR.end_at,
			},
		]);
	});
});

/** Pauses an export as if it had just failed three times. */
async function failThrice(batch_export: string) {
	const at = new Date().toISOString();
	const ids = [v7(), v7(), v7()] as const;
	for (const [n, id] of ids.entries())
		await addRuns(batch_export, {
			id,
			status: "Failed",
			data_interval_start: `2026-01-01T0${n}:00:00.000Z`,
			data_interval_end: `2026-01-01T0${n + 1}:00:00.000Z`,
			finished_at: at,
		});
	const last = { batch_export_id: await rowIdOf(batch_export), run_id: ids[2], lease: 0 };
	await pauseIfFailing(env, (await opened(last)).loaded);
}

describe("what arrives while an export is paused", () => {
	test.each([
		["by a user", false],
		["after three failures", true],
	])(
		"%s is exported by unpausing it with a backfill, whenever it happened",
		async (_, isFailing) => {
			stopClock();
			const { here, path, project, export_id } = await exporting(R2(), 0);
			const hour = (n: number, minutes = 0) =>
				new Date(
					(Math.floor(Date.now() / 3_600_000) - n) * 3_600_000 + minutes * 60_000,
				).toISOString();
			const its = eq(batchExports.uuid, export_id);
			await (isFailing ? failThrice(export_id) : here("POST", `${path}/pause`));
			expect((await here("GET", path)).body.paused).toBe(true);
			await db
				.update(batchExports)
				.set({ next_start_at: hour(4), next_end_at: hour(3), last_paused_at: hour(4, 10) })
				.where(its);
			// It happened two days before the pause.
			await fill(project, 5, { start: hour(52), end: hour(51), arrived: hour(2, 7) });
			const { backfill_id } = (await here("POST", `${path}/unpause`, { body: { backfill: true } }))
				.body;
			await eventually(async () =>
				expect((await here("GET", `${path}/backfills/${backfill_id}`)).body).toMatchObject({
					status: "Completed",
					by: "arrival",
					total_runs: 4,
					failed_runs: 0,
				}),
			);
			// The name of a scheduled run's file.
			const key = `${project}/out/${hour(2)}-${hour(1)}.jsonl`;
			expect(await listR2(`${project}/out`)).toEqual([key]);
			expect(parse(new TextDecoder().decode(await fetched(key)))).toHaveLength(5);
			const [row] = await db.select().from(batchExports).where(its);
			expect(row).toMatchObject({ paused: false, next_start_at: hour(0), next_end_at: hour(-1) });
		},
	);
});

describe("the metrics of an export", () => {
	test("are the rows, bytes, seconds and failures of each day", async () => {
		const { here, path, backfill, export_id } = await exporting(R2(), 100);
		await backfill();
		await backfill();
		const { body } = await here("GET", `${path}/metrics`);
		expect(body).toMatchObject({
			count: 1,
			next: null,
			results: [
				{
					day: new Date().toISOString().slice(0, 10),
					runs: 2,
					rows: 200,
					failures: 0,
				},
			],
		});
		const [{ bytes, seconds }] = body.results;
		const [one] = await db
			.select()
			.from(batchExportRuns)
			.where(eq(batchExportRuns.batch_export_id, rowOf(export_id)));
		expect(one?.bytes).toBeGreaterThan(100 * 100);
		expect(bytes).toBe(2 * (one?.bytes ?? 0));
		expect(seconds).toBeGreaterThan(0);
		await db.insert(batchExportDays).values({
			batch_export_id: rowOf(export_id),
			day: "2026-01-01",
			failures: 3,
		});
		const { body: paged } = await here("GET", `${path}/metrics?limit=1`);
		expect(paged.count).toBe(2);
		expect(paged.results).toMatchObject([{ rows: 200 }]);
		const { run } = await launched(export_id);
		await giveUp(env, run, new Error("The machine is gone."));
		const { body: after } = await here("GET", `${path}/metrics`);
		expect(after.results).toMatchObject([
			{ runs: 2, rows: 200, failures: 1 },
			{ day: "2026-01-01", runs: 0, failures: 3 },
		]);
		const stranger = await world();
		expect((await stranger.here("GET", `${path}/metrics`)).status).toBe(404);
	});
});

describe("a backfill", () => {
	test("runs its windows one after another, and a failed one doesn't stop it", async () => {
		const { here, path, ended } = await exporting(HTTP("/status/404"), 10);
		await here("POST", `${path}/backfill`, {
			body: {
				start_at: "2026-01-01T11:00:00Z",
				end_at: "2026-01-01T14:00:00Z",
			},
		});
		await eventually(async () =>
			expect((await here("GET", `${path}/backfills`)).body.results).toMatchObject([
				{
					status: "Completed",
					total_runs: 3,
					finished_runs: 3,
					failed_runs: 1,
					finished_at: expect.any(String),
				},
			]),
		);
		expect((await ended()).map(({ status }: { status: string }) => status)).toEqual([
			"Completed",
			"Failed",
			"Completed",
		]);
	});
});

const SECOND_END = "2026-01-01T14:00:00.000Z";

test("the end of a run adds its backfill's next run, unless another run of that backfill is unfinished", async () => {
	const { export_id, project, here, path } = await exporting({ type: "NoOp", config: {} }, 0);
	const backfill = v7();
	await addBackfills(export_id, {
		id: backfill,
		project_id: project,
		interval: "hour",
		start_at: HOUR.start_at,
		end_at: "2026-01-01T15:00:00.000Z",
		total_runs: 3,
	});
	const [first, second] = [await launched(export_id), await launched(export_id, SECOND_END)];
	const its = (run_id: string) => eq(batchExportRuns.id, run_id);
	for (const { run } of [first, second])
		await db.update(batchExportRuns).set({ backfill_id: backfill }).where(its(run.run_id));
	await db
		.update(batchExportBackfills)
		.set({ next_start_at: SECOND_END })
		.where(eq(batchExportBackfills.id, backfill));
	// A run of the schedule, which doesn't matter.
	await launched(export_id, "2026-01-01T12:30:00.000Z");
	const ends = async () => {
		const { body } = await here("GET", `${path}/runs`);
		const its = body.results.filter(({ backfill_id }: Json) => backfill_id === backfill);
		return its.map((run: Json) => run.data_interval_end).toSorted();
	};
	const end = async ({ run }: typeof first) => {
		const attempt = await opened(run);
		expect(await continueRun(attempt)).toBeNull();
		await afterRun(attempt);
	};
	await end(second);
	expect(await ends()).toEqual([HOUR.end_at, SECOND_END]);
	await end(first);
	expect(await ends()).toEqual([HOUR.end_at, SECOND_END, "2026-01-01T15:00:00.000Z"]);
});

describe("a destination that", () => {
	test("fails at each try is tried five times", async () => {
		const why = 'answered 500: "Oops".';
		const { backfill, here, path: at, id, project } = await exporting(HTTP("/status/500"), 3);
		const run = await backfill();
		expect(run.backfill_id).toEqual(expect.any(String));
		expect(await systemEvents(id)).toMatchObject([
			{
				type: "batch_export_run.failed",
				item_id: run.id,
				project_id: project,
				trigger: {
					backfill_id: run.backfill_id,
					data_interval_start: HOUR.start_at,
					data_interval_end: HOUR.end_at,
					status: "FailedRetryable",
					error: expect.stringContaining(why),
					next_step: "Retry the run when the destination works again.",
				},
			},
		]);
		expect(run).toMatchObject({
			status: "FailedRetryable",
			latest_error: expect.stringContaining(why),
		});
		const { body: log } = await here("GET", `${at}/runs/${run.id}/logs`);
		const levels = log.results.map(({ level }: { level: string }) => level);
		expect(levels).toEqual(["ERROR", ...Array(4).fill("WARNING")]);
		expect(log.results[0].message).toMatch(
			/ failed 5 times in a row without progress: .+\. Retry the run when the destination works again\. Totals: 0 rows, 0 bytes, [\d.]+ seconds?, attempt 1\.$/,
		);
		expect((await here("GET", at)).body.paused).toBe(false);
	});

	test("fails is retried after increasing delays, or after its Retry-After", async () => {
		const waits = async (path: string) => {
			const { export_id } = await exporting(HTTP(path), 1);
			const { run, find } = await launched(export_id);
			const waited: (number | null)[] = [];
			for (let wait: number | null = 0; wait !== null; waited.push(wait)) {
				wait = await partOf(run);
				const { lease_expires_at } = await find();
				if (wait !== null)
					expect(Date.parse(lease_expires_at ?? "") - Date.now()).toBeGreaterThan(wait + 21_000);
			}
			expect(await find()).toMatchObject({
				status: "FailedRetryable",
				lease_expires_at: null,
			});
			return waited;
		};
		expect(await waits("/status/503")).toEqual([5000, 15_000, 45_000, 120_000, null]);
		expect(await waits("/status/429/60")).toEqual([60_000, 60_000, 60_000, 120_000, null]);
		const [first] = await waits("/status/503/99999");
		expect(first).toBe(3_600_000);
		const date = new Date(Date.now() + 300_000).toUTCString();
		const [until = 0] = await waits(`/status/503/${encodeURIComponent(date)}`);
		expect(until).toBeGreaterThan(200_000);
		expect(until).toBeLessThan(300_001);
	});

	test("rejects rows fails the run immediately; three failures in a row pause the export and mail the admins, once a day", async () => {
		const { take, env: mailing } = outbox();
		const start = Date.now();
		/** Who got a mail that an export was paused, by a tick after so many hours. */
		const mailedIn = async (hours: number) => {
			await sendDigests({ ...env, ...mailing }, start + hours * 3_600_000 + 60_000);
			const mails = take().filter(({ text }) => text.includes(home.id));
			return mails.filter(({ subject }) => subject.includes("paused")).map(({ to }) => to);
		};
		const home = await exporting(HTTP("/status/403"), 3);
		const admin = await join(home.id, 8);
		await join(home.id, 1);
		const paused = async () => (await home.here("GET", home.path)).body.paused;
		const fail = async (n: number) => {
			const end = `2026-01-01T13:00:0${n}.000Z`;
			const { run, find } = await launched(home.export_id, end);
			const attempt = await opened(run);
			expect(await continueRun(attempt)).toBeNull();
			await afterRun(attempt);
			expect((await find()).status).toBe("Failed");
			const { body } = await home.here("GET", `${home.path}/runs/${run.run_id}/logs`);
			expect(body.results[0].message).toContain(
				"It was not tried again, because the error is permanent. Fix the cause, then retry the run.",
			);
		};
		for (const n of [1, 2, 3]) {
			expect(await paused()).toBe(false);
			await fail(n);
		}
		expect(await paused()).toBe(true);
		const admins = [home.owner.email, admin.email].sort();
		expect((await mailedIn(0)).sort()).toEqual(admins);
		expect((await systemEvents(home.id)).map(({ type }) => type)).toEqual([
			...Array(3).fill("batch_export_run.failed"),
			"batch_export.paused",
		]);
		const { body } = await home.here("GET", `${home.path}/logs?level=ERROR`);
		expect(body.results[0].message).toBe(
			'The export was paused: its last 3 runs failed. Fix the errors in the log, then unpause the export, with {"backfill": true} to also export what arrived during the pause.',
		);
		await home.here("POST", `${home.path}/unpause`);
		for (const n of [4, 5, 6]) {
			expect(await paused()).toBe(false);
			await fail(n);
		}
		expect(await paused()).toBe(true);
		expect(await mailedIn(23)).toEqual([]);
		expect((await mailedIn(24)).sort()).toEqual(admins);
		expect(await mailedIn(49)).toEqual([]);
	});

	test("fails three runs gets its export paused, even if a run between them was cancelled", async () => {
		const { here, path, export_id } = await exporting(HTTP("/status/403"), 3);
		const paused = async () => (await here("GET", path)).body.paused;
		const next = async (n: number) => {
			const end = `2026-01-01T13:00:0${n}.000Z`;
			const { run, find } = await launched(export_id, end);
			if (n === 3) await here("POST", `${path}/runs/${run.run_id}/cancel`);
			await carried(run);
			await afterRun(await opened(run));
			return (await find()).status;
		};
		expect([await next(1), await next(2), await next(3)]).toEqual([
			"Failed",
			"Failed",
			"Cancelled",
		]);
		expect(await paused()).toBe(false);
		expect(await next(4)).toBe("Failed");
		expect(await paused()).toBe(true);
	});
});

describe("the end of a run", () => {
	/** A run of 10 rows that fails at each try, or of a destination that takes everything. */
	const ending = async (destination: object) => {
		stopClock();
		const home = await exporting(destination, 10);
		const { run } = await launched(home.export_id);
		const types = async () => (await systemEvents(home.id)).map(({ type }) => type);
		return { ...home, run, types };
	};

	test("is an event, with what was exported", async () => {
		const { id, project, export_id, run } = await ending({ type: "NoOp", config: {} });
		await carried(run);
		expect(await systemEvents(id)).toEqual([
			{
				type: "batch_export_run.completed",
				item_id: run.run_id,
				project_id: project,
				name: "Export",
				changes: [],
				trigger: {
					run_id: run.run_id,
					batch_export_id: export_id,
					backfill_id: null,
					data_interval_start: HOUR.start_at,
					data_interval_end: HOUR.end_at,
					status: "Completed",
					attempt: 1,
					rows: 10,
					bytes: expect.any(Number),
					seconds: 0,
					error: null,
					next_step: null,
				},
			},
		]);
	});

	test("is one event, also if the step is repeated, or fails after it", async () => {
		const { run, types } = await ending({ type: "NoOp", config: {} });
		await carried(run);
		const stale = await opened(run);
		await continueRun(stale);
		await giveUp(env, run, new Error("The machine is gone."));
		expect(await types()).toEqual(["batch_export_run.completed"]);
	});

	test("is one event, even if two attempts find concurrently that it failed", async () => {
		const { run, types, here, path } = await ending(HTTP("/status/403"));
		const both = [await opened(run), await opened(run)];
		for (const attempt of both) expect(await continueRun(attempt)).toBeNull();
		expect(await types()).toEqual(["batch_export_run.failed"]);
		const { body } = await here("GET", `${path}/metrics`);
		expect(body.results).toMatchObject([{ failures: 1 }]);
	});

	test("is no event, and the run doesn't end, if the event can't be written", async () => {
		const { run, types } = await ending({ type: "NoOp", config: {} });
		const attempt = await opened(run, {
			DB: Object.assign(Object.create(env.DB), {
				prepare: (query: string) => env.DB.prepare(query),
				batch: async (statements: D1PreparedStatement[]) =>
					env.DB.batch([...statements, env.DB.prepare("insert into assertions values (0, 1, 1)")]),
			}),
		});
		await continueRun(attempt).catch(() => {});
		const { finished_at } = (await opened(run)).loaded.run;
		expect(finished_at).toBeNull();
		expect(await types()).toEqual([]);
	});

	test("isn't an event if the run is cancelled", async () => {
		const { run, types, here, path } = await ending({ type: "NoOp", config: {} });
		await here("POST", `${path}/runs/${run.run_id}/cancel`);
		await carried(run);
		expect(await types()).toEqual([]);
	});
});

/** Counts the round trips to D1 of an attempt and of what follows it. */
async function tripsOf(run: RunLease, more: Partial<Env> = {}) {
	let trips = 0;
	const counting =
		<Args extends unknown[], Result>(call: (...args: Args) => Result) =>
		(...args: Args) => {
			trips += 1;
			return call(...args);
		};
	const counted = (statement: D1PreparedStatement): D1PreparedStatement => {
		const bind = statement.bind.bind(statement);
		return Object.assign(statement, {
			bind: (...values: unknown[]) => counted(bind(...values)),
			all: counting(statement.all.bind(statement)),
			run: counting(statement.run.bind(statement)),
			raw: counting(statement.raw.bind(statement)),
		});
	};
	const DB: D1Database = Object.assign(Object.create(env.DB), {
		prepare: (query: string) => counted(env.DB.prepare(query)),
		batch: counting((statements: D1PreparedStatement[]) => env.DB.batch(statements)),
	});
	const attempt = await opened(run, { DB, ...more });
	expect(await continueRun(attempt)).toBeNull();
	await afterRun(attempt);
	return trips;
}

describe("a window that is exported again", () => {
	const change = (config: object) => ({ body: { destination: { config } } });

	test("by a retry leaves its rows once", async () => {
		const home = await exporting(R2({ compression: "gzip" }), 10);
		const { run } = await launched(home.export_id);
		expect(await carried(run)).toBeNull();
		expect(await listR2(`${home.project}/`)).toEqual([`${home.project}/out/${FILE}.jsonl.gz`]);
		await home.here("PATCH", home.path, change({ compression: null }));
		await home.here("POST", `${home.path}/runs/${run.run_id}/retry`);
		expect(await home.ended()).toMatchObject([{ status: "Completed", records_completed: 10 }]);
		expect(await listR2(`${home.project}/`)).toEqual([`${home.project}/out/${FILE}.jsonl`]);
	});
});

describe("the round trips to D1 of a small run", () => {
	test.each([
		["that succeeds", "/batches/small", 6],
		["that fails", "/status/403", 6],
	])("%s", async (_, path, expected) => {
		const { export_id } = await exporting(HTTP(path), 3);
		const { run, find } = await launched(export_id);
		expect(await tripsOf(run)).toBe(expected);
		expect((await find()).finished_at).not.toBeNull();
	});
});

describe("a run that", () => {
	test("that another attempt has taken over is neither ended nor logged by the first", async () => {
		const { export_id } = await exporting({ type: "NoOp", config: {} }, 3);
		const { run, find } = await launched(export_id);
		const { id } = await find();
		await db.update(batchExportRuns).set({ lease: 2 }).where(eq(batchExportRuns.id, id));
		const before = await find();
		expect(await giveUp(env, run, new Error("The database is gone."))).toBeNull();
		expect(await find()).toEqual(before);
		const entries = await storedEntries(export_id);
		expect(entries.filter(({ run_id }) => run_id === id)).toEqual([]);
	});

	test("is interrupted continues where it was, in another attempt", async () => {
		const { project, export_id } = await large();
		const { run, find } = await launched(export_id);
		expect(
			await carried(
				run,
				atPart(2, async () => {
					throw new Error("The machine is gone.");
				}),
			),
		).toBe(5000);
		const cut = await find();
		expect(cut).toMatchObject({
			status: "Running",
			latest_error: "The machine is gone.",
		});
		expect(cut.records_completed).toBeGreaterThan(0);
		expect(cut.cursor).not.toBeNull();
		expect(await listR2(`${project}/`)).toEqual([]);
		await db.update(batchExportRuns).set({ lease: 2 }).where(eq(batchExportRuns.id, run.run_id));
		await carried({ ...run, lease: 2 });
		expect(await find()).toMatchObject({
			status: "Completed",
			records_completed: BIG,
			state: null,
		});
		const rows = parse(await fileOf(project));
		expect(await checksum(rows)).toBe(await checksum(await eventsOf(project)));
	});

	test("fails for good removes the upload that it began in the same part", async () => {
		const { export_id } = await large();
		const { run, find } = await launched(export_id);
		let begun: unknown;
		const failing = atPart(1, async () => {
			begun = (await find()).state;
			throw new MisconfiguredError("There is no such bucket.");
		});
		expect(await partOf(run, failing)).toBeNull();
		expect(begun).toMatchObject({ uploads: [{ parts: [] }] });
		expect(await find()).toMatchObject({ status: "Failed", state: null });
	});

	test("fails when D1's response is lost removes the upload that D1 has stored", async () => {
		const { export_id } = await large();
		const { run, find } = await launched(export_id);
		await db.update(batchExportRuns).set({ attempts: 4 }).where(eq(batchExportRuns.id, run.run_id));
		const losing = (statement: D1PreparedStatement, values: unknown[]): D1PreparedStatement => {
			const bind = statement.bind.bind(statement);
			const send = statement.run.bind(statement);
			return Object.assign(statement, {
				bind: (...bound: unknown[]) => losing(bind(...bound), bound),
				run: async () => {
					const result = await send();
					if (values.some((value) => String(value).includes('"uploads"')))
						throw new Error("The response was lost.");
					return result;
				},
			});
		};
		const DB: D1Database = Object.assign(Object.create(env.DB), {
			prepare: (query: string) => {
				const statement = env.DB.prepare(query);
				return query.includes('"state" = ?') ? losing(statement, []) : statement;
			},
			batch: (statements: D1PreparedStatement[]) => env.DB.batch(statements),
		});
		expect(await partOf(run, { DB })).toBeNull();
		expect(await find()).toMatchObject({
			status: "FailedRetryable",
			latest_error: "The response was lost.",
			state: null,
		});
	});

	test("is cancelled after it has read all rows writes no file", async () => {
		const { here, path, project, export_id } = await exporting(R2(), 3);
		const { run, find } = await launched(export_id);
		/** Cancels the run when the statement has read the rows. */
		const cancelling = (statement: D1PreparedStatement): D1PreparedStatement => {
			const [bind, read] = [statement.bind.bind(statement), statement.raw.bind(statement)];
			return Object.assign(statement, {
				bind: (...values: unknown[]) => cancelling(bind(...values)),
				raw: async () => {
					const rows = await read();
					const { status } = await here("POST", `${path}/runs/${run.run_id}/cancel`);
					expect(status).toBe(200);
					return rows;
				},
			});
		};
		const DB: D1Database = Object.assign(Object.create(env.DB), {
			prepare: (query: string) => {
				const statement = env.DB.prepare(query);
				return /\bfrom events\b/.test(query) ? cancelling(statement) : statement;
			},
			batch: (statements: D1PreparedStatement[]) => env.DB.batch(statements),
		});
		expect(await partOf(run, { DB })).toBeNull();
		expect((await find()).status).toBe("Cancelled");
		expect(await listR2(`${project}/`)).toEqual([]);
	});

	test.each([
		["cancelled", false, async () => {}],
		["cancelled and retried", true, async (retry: () => Promise<unknown>) => retry()],
	])(
		"is %s while it begins an upload leaves none open, though the bucket fails then",
		async (_, retried, then) => {
			const { here, path, project, export_id } = await large();
			await launched(export_id, "2026-01-01T12:30:00.000Z");
			const { run, find } = await launched(export_id);
			const at = `${path}/runs/${run.run_id}`;
			let upload = "";
			let aborts = 0;
			const EXPORTS: R2Bucket = Object.assign(Object.create(env.EXPORTS), {
				get: (key: string) => env.EXPORTS.get(key),
				async createMultipartUpload(key: string, options: R2MultipartOptions) {
					const begun = await env.EXPORTS.createMultipartUpload(key, options);
					upload = begun.uploadId;
					await here("POST", `${at}/cancel`);
					await then(() => here("POST", `${at}/retry`));
					return begun;
				},
				head: (key: string) => env.EXPORTS.head(key),
				resumeMultipartUpload: (key: string, id: string) => ({
					abort: async () => {
						aborts += 1;
						if (!retried) throw new Error("Not now.");
						await env.EXPORTS.resumeMultipartUpload(key, id).abort();
					},
				}),
			});
			await carried(run, { EXPORTS });
			expect(aborts).toBeGreaterThan(0);
			if (!retried) await tick(env, Date.now() + 2 * 60_000);
			expect(await find()).toMatchObject({
				status: retried ? "Starting" : "Cancelled",
				state: null,
			});
			await expect(
				env.EXPORTS.resumeMultipartUpload(`${project}/out/${FILE}.jsonl`, upload).uploadPart(
					1,
					new Uint8Array(1),
				),
			).rejects.toThrow("(10024)");
		},
	);

	test("has leftovers that can't be removed is given up on after a week", async () => {
		const { export_id } = await exporting(R2(), 0);
		const { run, find } = await launched(export_id);
		const EXPORTS: R2Bucket = Object.assign(Object.create(env.EXPORTS), {
			get: (key: string) => env.EXPORTS.get(key),
			resumeMultipartUpload: () => ({
				abort: async () => {
					throw new Error("There is no such bucket.");
				},
			}),
		});
		const ended = (days: number) =>
			db
				.update(batchExportRuns)
				.set({
					status: "Failed",
					finished_at: new Date(Date.now() - days * 86_400_000).toISOString(),
					state: { uploads: [{ id: "x", mark: "x", parts: [] }] },
				})
				.where(eq(batchExportRuns.id, run.run_id));
		await ended(6);
		await clean({ ...env, EXPORTS }, (await opened(run)).loaded);
		expect((await find()).state).not.toBeNull();
		await ended(8);
		await clean({ ...env, EXPORTS }, (await opened(run)).loaded);
		expect((await find()).state).toBeNull();
	});

	test.skipIf(noPostgres)(
		`ends, well or not, closes its connection to PostgreSQL${noPostgres}`,
		async () => {
			const client = new pg.Client(POSTGRES);
			client.on("error", () => {});
			await client.connect();
			const open = async () => {
				const { rowCount } = await client.query(
					"select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
				);
				return rowCount;
			};
			for (const table_name of [`ended ${v7()}`, "pg_class"]) {
				const { export_id } = await exporting(
					{
						type: "Postgres",
						config: {
							...POSTGRES,
							table_name,
							schema: table_name === "pg_class" ? "pg_catalog" : "public",
						},
					},
					3,
				);
				const { run, find } = await launched(export_id);
				await carried(run);
				expect(await find()).toMatchObject({
					status: table_name === "pg_class" ? "Failed" : "Completed",
				});
				await eventually(async () => expect(await open()).toBe(0));
			}
			await client.end();
		},
	);

	test("is slow ends its step before the step times out", async () => {
		const { export_id } = await exporting({ type: "NoOp", config: {} }, 2500);
		const { run, find } = await launched(export_id);
		let clock = Date.now();
		const slow = vi.spyOn(Date, "now").mockImplementation(() => {
			clock += 5 * 60_000;
			return clock;
		});
		const wait_ms = await partOf(run).finally(() => slow.mockRestore());
		expect(wait_ms).toBe(0);
		await carried(run);
		expect(await find()).toMatchObject({
			status: "Completed",
			records_completed: 2500,
		});
	});

	test("waits for its destination keeps sending heartbeats", async () => {
		const { export_id } = await exporting(HTTP("/hang"), 1);
		const { run, find } = await launched(export_id);
		const long_ago = "2020-01-01T00:00:00.000Z";
		const timers: (() => Promise<void>)[] = [];
		const interval = vi.spyOn(globalThis, "setInterval").mockImplementation(((
			beat: () => Promise<void>,
			ms: number,
		) => {
			if (ms === 10_000) timers.push(beat);
			return 0;
		}) as never);
		const { promise: wasAlive, resolve: endWait } = Promise.withResolvers();
		const carrying = withoutPatience(() => partOf(run), wasAlive).finally(() =>
			interval.mockRestore(),
		);
		await eventually(async () => expect(timers).not.toHaveLength(0));
		expect((await find()).status).toBe("Starting");
		await db
			.update(batchExportRuns)
			.set({ last_updated_at: long_ago })
			.where(eq(batchExportRuns.id, run.run_id));
		for (const beat of timers) await beat();
		const alive = await find();
		expect(alive.status).toBe("Running");
		expect(alive.last_updated_at > long_ago).toBe(true);
		endWait(null);
		await carrying;
	});

	test("the database fails reports the error without the statement", async () => {
		const { export_id, project } = await exporting(R2(), 3);
		const { run, find } = await launched(export_id);
		const DB: D1Database = Object.assign(Object.create(env.DB), {
			prepare: (query: string) => env.DB.prepare(query.replace(/\bfrom events\b/g, "from nowhere")),
			batch: (statements: D1PreparedStatement[]) => env.DB.batch(statements),
		});
		expect(await partOf(run, { DB })).toBe(5000);
		const { latest_error } = await find();
		expect(latest_error).toContain("no such table");
		expect(latest_error).not.toContain("params");
		expect(latest_error).not.toContain(String(project));
	});

	/** Until this is disposed of, receivers accept this many posts, then reject all. */
	function refusingAfter(posts: number) {
		const real = globalThis.fetch;
		let left = posts;
		return vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
			left -= 1;
			return left >= 0 ? real(input, init) : Promise.resolve(new Response(null, { status: 503 }));
		});
	}

	test.each([
		["from where it failed", {}, undefined, 1000, 3000],
		["from the start, if that is asked for", {}, { from: "start" }, 3000, 3000],
		[
			"from the start, if what it would write was changed",
			{ destination: { config: { include_events: ["event 1"] } } },
			undefined,
			300,
			300,
		],
		[
			"from where it failed, if only its secrets and its name were changed",
			{ name: "New", destination: { config: { token: "another" } } },
			undefined,
			1000,
			3000,
		],
	])("failed is retried %s", async (_, change, body, sent, completed) => {
		const path = `/status/200/${v7()}`;
		const home = await exporting(HTTP(path), 3000);
		const { run, find } = await launched(home.export_id);
		const refusing = refusingAfter(2);
		while ((await partOf(run)) !== null);
		refusing.mockRestore();
		expect(await find()).toMatchObject({
			status: "FailedRetryable",
			records_completed: 2000,
			state: null,
		});
		await home.here("PATCH", home.path, { body: change });
		const response = await home.here("POST", `${home.path}/runs/${run.run_id}/retry`, {
			...(body && { body }),
		});
		expect(response).toMatchObject({
			status: 200,
			body: { records_completed: body ? 0 : 2000 },
		});
		expect(await home.ended()).toMatchObject([
			{ status: "Completed", records_completed: completed },
		]);
		const batches = (await received(path)).map(({ text }) => JSON.parse(text).batch);
		expect(batches.slice(2).flat()).toHaveLength(sent);
		const { body: log } = await home.here(
			"GET",
			`${home.path}/runs/${run.run_id}/logs?search=${sent === 300 ? "starts over" : "Attempt 2"}`,
		);
		expect(log.results.at(-1).message).toBe(
			{
				1000: "Attempt 2 continues after 2000 rows.",
				3000: "Attempt 2 starts with the first row.",
				300: "The destination or the query has changed since the run began, so it starts over. Rows that are already in a database or at a receiver stay there.",
			}[sent],
		);
		expect(new Set(batches.flat().map(({ uuid }: { uuid: string }) => uuid)).size).toBe(
			3000 - (sent === 300 ? 1000 - 100 : 0),
		);
		expect(await find()).toMatchObject({ state: null, resume_state: null });
	});

	test("starts over at the new destination if its destination is changed meanwhile", async () => {
		const [first, second] = [`/status/200/${v7()}`, `/status/200/${v7()}`];
		const home = await exporting(HTTP(first), 3000);
		const { run, find } = await launched(home.export_id);
		const refusing = refusingAfter(2);
		expect(await partOf(run)).toBe(5000);
		refusing.mockRestore();
		expect((await find()).records_completed).toBe(2000);
		await home.here("PATCH", home.path, {
			body: { destination: HTTP(second) },
		});
		expect(await carried(run)).toBeNull();
		expect(await find()).toMatchObject({
			status: "Completed",
			records_completed: 3000,
		});
		const rows = (await received(second)).flatMap(({ text }) => JSON.parse(text).batch);
		expect(await checksum(rows)).toBe(await checksum(await eventsOf(home.project)));
	});

	test("starts over if its query's condition is changed meanwhile", async () => {
		const query = (condition: string) => ({
			xql_query: `SELECT uuid, event FROM events WHERE ${condition}`,
		});
		const address = `/status/200/${v7()}`;
		const home = await exporting(HTTP(address), 3000, query("true"));
		const { run, find } = await launched(home.export_id);
		const refusing = refusingAfter(2);
		expect(await partOf(run)).toBe(5000);
		refusing.mockRestore();
		expect((await find()).records_completed).toBe(2000);
		await home.here("PATCH", home.path, { body: query("event = 'event 1'") });
		expect(await carried(run)).toBeNull();
		expect(await find()).toMatchObject({
			status: "Completed",
			records_completed: 300,
			records_total_count: 300,
		});
	});
});
