import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { batchExportRuns } from "../../../src/db/schema/batch_exports.ts";
import { clean } from "../../../src/exports/engine/clean.ts";
import { continueRun, giveUp } from "../../../src/exports/engine/run.ts";
import { runDueExports as tick } from "../../../src/exports/engine/schedule.ts";
import { listR2, received } from "../../support/exporting.ts";
import { eventually } from "../../support/time.ts";
import { db } from "../../support/world.ts";
import {
	atPart,
	BIG,
	carried,
	checksum,
	eventsOf,
	exporting,
	FILE,
	fileOf,
	HTTP,
	large,
	launched,
	opened,
	parse,
	R2,
	withoutWaits,
} from "./running.ts";

const workflows = withoutWaits();

describe("a backfill", () => {
	test("of many windows gets a response immediately, and so do other requests while it runs", async () => {
		const { here, path, ended } = await exporting({ type: "NoOp", config: {} }, 0);
		const instances = (await workflows()).length;
		const { body, status } = await here("POST", `${path}/backfill`, {
			body: {
				start_at: "2026-01-01T00:00:00Z",
				end_at: "2026-01-02T00:00:00Z",
			},
		});
		expect(status).toBe(200);
		const progress = async () => (await here("GET", `${path}/backfills`)).body.results[0];
		const first = await progress();
		expect(first).toMatchObject({ id: body.backfill_id, status: "Running" });
		expect(first.finished_runs).toBeLessThan(24);
		const seen = new Set<number>();
		await eventually(async () => {
			const { status, finished_runs } = await progress();
			seen.add(finished_runs);
			expect(status).toBe("Completed");
		});
		expect(seen.size).toBeGreaterThan(1);
		await ended();
		const { body: all } = await here("GET", `${path}/runs?limit=1000`);
		expect(all.count).toBe(24);
		expect(
			new Set(all.results.map((run: { data_interval_end: string }) => run.data_interval_end)).size,
		).toBe(24);
		expect(await workflows()).toHaveLength(instances + 1);
	});
});

describe("a destination that", () => {
	test("fails every other time gets each batch once, because each stored state counts as progress", async () => {
		const path = `/flaky/${v7()}`;
		const { project, backfill, here, path: at } = await exporting(HTTP(path), 2500);
		expect(await backfill()).toMatchObject({
			status: "Completed",
			records_completed: 2500,
		});
		const taken = new Map(
			(await received(path)).map(({ headers, text }) => [headers["idempotency-key"], text]),
		);
		const rows = [...taken.values()].flatMap((text) => JSON.parse(text).batch);
		expect(await checksum(rows)).toBe(await checksum(await eventsOf(project)));
		const { body } = await here("GET", `${at}/logs?level=WARNING`);
		expect(body.results[0].message).toMatch(
			/^Failure 1 of 5 in a row: 127\.0\.0\.1:\d+ answered 503: "Oops"\. The run continues at 2/,
		);
	});
});

describe("a window that is exported again", () => {
	const change = (config: object) => ({ body: { destination: { config } } });

	test("by a backfill leaves its rows once", async () => {
		const { project, here, path, backfill } = await exporting(R2({ max_file_size_mb: 1 }), 5000);
		await backfill();
		expect((await listR2(`${project}/`)).length).toBeGreaterThan(2);
		await here("PATCH", path, change({ max_file_size_mb: null, file_format: "Parquet" }));
		expect(await backfill()).toMatchObject({ status: "Completed" });
		expect(await listR2(`${project}/`)).toEqual([`${project}/out/${FILE}-backfill.parquet`]);
		await here("PATCH", path, change({ include_events: ["none"] }));
		expect(await backfill()).toMatchObject({ status: "Completed", records_completed: 0 });
		expect(await listR2(`${project}/`)).toEqual([]);
	});
});

describe("a run that", () => {
	test("has stored its state doesn't keep it in memory", async () => {
		const { export_id } = await large();
		const { run, find } = await launched(export_id);
		let inMemory: unknown;
		let stored: unknown;
		const attempt = await opened(
			run,
			atPart(2, async () => {
				inMemory = attempt.loaded.run.state;
				stored = (await find()).state;
			}),
		);
		expect(await continueRun(attempt)).toBeNull();
		expect(stored).toMatchObject({ rest: expect.stringMatching(/.{1000}/) });
		expect(inMemory).toBeNull();
	});

	test("two attempts execute concurrently is written once and completely", async () => {
		const { project, export_id } = await large();
		const { run, find } = await launched(export_id);
		await carried(
			run,
			atPart(2, async () => {
				await db
					.update(batchExportRuns)
					.set({ lease: 2 })
					.where(eq(batchExportRuns.id, run.run_id));
				await carried({ ...run, lease: 2 });
			}),
		);
		expect(await find()).toMatchObject({
			status: "Completed",
			records_completed: BIG,
			lease: 2,
		});
		const rows = parse(await fileOf(project));
		expect(await checksum(rows)).toBe(await checksum(await eventsOf(project)));
	});

	test("is cancelled in the middle leaves no object and no upload", async () => {
		const { here, path, project, export_id } = await large();
		const { run, find } = await launched(export_id);
		let upload: unknown;
		await carried(
			run,
			atPart(2, async () => {
				upload = (await find()).state;
				const { status } = await here("POST", `${path}/runs/${run.run_id}/cancel`);
				expect(status).toBe(200);
			}),
		);
		expect(await find()).toMatchObject({ status: "Cancelled", state: null });
		expect(await listR2(`${project}/`)).toEqual([]);
		const [{ id }] = Object(upload).uploads;
		await expect(
			env.EXPORTS.resumeMultipartUpload(`${project}/out/${FILE}.jsonl`, id).uploadPart(
				1,
				new Uint8Array(1),
			),
		).rejects.toThrow("(10024)");
	});

	test("crashes after it was cancelled is cleaned up by the schedule", async () => {
		const { here, path, export_id } = await large();
		const { run, find } = await launched(export_id);
		await carried(
			run,
			atPart(2, async () => {
				throw new Error("The machine is gone.");
			}),
		);
		await here("DELETE", path);
		expect(await find()).toMatchObject({
			status: "Cancelled",
			state: expect.anything(),
		});
		await tick(env, Date.now() + 2 * 60_000);
		expect((await find()).state).toBeNull();
	});

	test("is retried while an attempt is still alive continues only in the new attempt", async () => {
		const { here, path, export_id } = await large();
		// The run before it has not ended.
		await launched(export_id, "2026-01-01T12:30:00.000Z");
		const { run, find } = await launched(export_id);
		await carried(
			run,
			atPart(2, async () => {
				await here("POST", `${path}/runs/${run.run_id}/cancel`);
				await clean(env, (await opened(run)).loaded);
				const { status } = await here("POST", `${path}/runs/${run.run_id}/retry`);
				expect(status).toBe(200);
			}),
		);
		expect(await find()).toMatchObject({ status: "Starting", state: null });
	});

	test("fails after all its tries leaves no upload, and can be retried from the start", async () => {
		const { here, path, project, export_id, ended } = await large();
		const { run, find } = await launched(export_id);
		await carried(
			run,
			atPart(2, async () => {
				throw new Error("The machine is gone.");
			}),
		);
		await giveUp(env, run, new Error("The machine is gone."));
		expect(await find()).toMatchObject({
			status: "FailedRetryable",
			latest_error: "The machine is gone.",
			state: null,
		});
		await here("POST", `${path}/runs/${run.run_id}/retry`);
		expect(await ended()).toMatchObject([
			{ id: run.run_id, status: "Completed", records_completed: BIG },
		]);
		expect(await listR2(`${project}/`)).toHaveLength(1);
	});
});
