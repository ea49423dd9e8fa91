import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { batchExportRuns } from "../../../src/db/schema/batch_exports.ts";
import { metered } from "../../support/events.ts";
import { db } from "../../support/world.ts";
import { daily, delivered, iso, missing, still, stopDays, wait } from "./daily.ts";

stopDays();

test("runs that ended more than 60 days ago become one range, for little more than a row each", async () => {
	const of = await daily();
	await of.pass(100);
	expect(await of.count()).toBe(100);
	const { db: DB, spent } = metered();
	await of.fold(DB);
	expect((await of.ranges()).results).toEqual([delivered(of, 0, 30)]);
	expect(await of.count()).toBe(70);
	const { results } = (await of.here("GET", `${of.path}/runs?limit=100`)).body;
	expect(results.at(-1).data_interval_start).toBe(of.at(30));
	expect(spent.written).toBe(32);
	await of.fold(DB);
	expect(spent.written).toBe(32);
	await of.pass(10);
	await of.fold(DB);
	expect((await of.ranges()).results).toEqual([delivered(of, 0, 40)]);
	expect(spent.written).toBe(44);
});

test("what old runs delivered is delivered: neither the schedule nor a backfill exports it again", async () => {
	const of = await daily();
	await of.pass(100);
	await of.fold();
	const { total_runs } = await of.backfill("arrival", 0, 100);
	expect(total_runs).toBe(0);
	await of.here("POST", `${of.path}/pause`);
	const body = { last_paused_at: of.at(0) };
	expect((await of.here("PATCH", of.path, { body })).status).toBe(200);
	await of.here("POST", `${of.path}/unpause`, { body: { backfill: true }, env: still });
	await of.pass(10);
	expect((await of.ranges()).results).toEqual([delivered(of, 0, 30)]);
	const starts = (await of.runs()).map(({ data_interval_start }) => data_interval_start);
	expect(starts).toEqual(Array.from({ length: 80 }, (_, i) => of.at(30 + i)));
});

test("an old failed run is a gap with its reason, until a backfill by arrival exports it", async () => {
	const of = await daily();
	await of.pass(10);
	await of.pass(10, "Failed", "No bucket.");
	await of.pass(10, "Cancelled", "Cancelled");
	await of.pass(80);
	await of.fold();
	expect((await of.ranges()).results).toEqual([
		delivered(of, 30, 40),
		missing(of, 20, 30, "Cancelled", true),
		missing(of, 10, 20, "No bucket."),
		delivered(of, 0, 10),
	]);
	expect(await of.backfill("arrival", 0, 15)).toMatchObject({ total_runs: 5, finished_runs: 5 });
	await of.pass(70);
	await of.fold();
	expect((await of.ranges()).results).toEqual([
		delivered(of, 30, 110),
		missing(of, 20, 30, "Cancelled", true),
		missing(of, 15, 20, "No bucket."),
		delivered(of, 0, 15),
	]);
});

test("what old backfills exported by event time isn't what arrived", async () => {
	const of = await daily();
	await of.pass(10, "Failed", "No bucket.");
	await of.pass(30);
	await of.backfill("event", 2, 5);
	await of.backfill("event", 4, 6);
	await of.pass(70);
	await of.fold();
	const { count, results } = await of.ranges();
	expect(results).toEqual([
		delivered(of, 10, 40),
		missing(of, 6, 10, "No bucket."),
		delivered(of, 2, 6, { by: "event", runs: 5, rows: 50, bytes: 500 }),
		missing(of, 2, 6, "No bucket.", true),
		missing(of, 0, 2, "No bucket."),
	]);
	expect(count).toBe(5);
	const page = await of.ranges("?limit=3");
	expect(page.results).toEqual(results.slice(0, 3));
	const next = page.next.slice(page.next.indexOf("?"));
	expect((await of.ranges(next)).results).toEqual(results.slice(3));
	const overlapping = `?after=${of.at(6)}&starts_before=${of.at(10)}`;
	expect(await of.ranges(overlapping)).toMatchObject({ count: 1, results: [results[1]] });
	expect(await of.backfill("arrival", 0, 40)).toMatchObject({ total_runs: 10 });
	// The backfills still have their numbers.
	const { body } = await of.here("GET", `${of.path}/backfills`);
	expect(body.results).toMatchObject([
		{ finished_runs: 10 },
		{ finished_runs: 2 },
		{ finished_runs: 3 },
	]);
});

test("the newest 24 runs, unfinished output and unfinished backfills stay", async () => {
	const of = await daily();
	await of.pass(40);
	const { body } = await of.here("POST", `${of.path}/backfill`, {
		body: { start_at: of.at(0), end_at: of.at(20) },
		env: still,
	});
	await of.here("POST", `${of.path}/pause`);
	const [first, second] = await of.runs();
	if (!first || !second) throw new Error("There are no runs.");
	const set = (id: string, state: unknown) =>
		db.update(batchExportRuns).set({ state }).where(eq(batchExportRuns.id, id));
	await set(second.id, { upload: "1" });
	// The first run of the backfill ends, and the backfill doesn't go on.
	await db
		.update(batchExportRuns)
		.set({ status: "Completed", finished_at: iso(Date.now()), records_completed: 0, bytes: 0 })
		.where(eq(batchExportRuns.backfill_id, body.backfill_id));
	wait(100);
	await of.fold();
	// The run of the backfill is one of the 24.
	expect((await of.ranges()).results).toEqual([delivered(of, 2, 17), delivered(of, 0, 1)]);
	expect(await of.count()).toBe(25);
	await set(second.id, null);
	await of.fold();
	expect((await of.ranges()).results).toEqual([delivered(of, 0, 17)]);
	await of.here("POST", `${of.path}/unpause`, { env: still });
	await of.pass(30);
	await of.fold();
	expect((await of.runs())[0]).toMatchObject({ backfill_id: body.backfill_id });
	expect(await of.here("POST", `${of.path}/backfills/${body.backfill_id}/cancel`)).toMatchObject({
		status: 200,
	});
	await of.fold();
	expect((await of.ranges()).results).toContainEqual(
		delivered(of, 0, 1, { by: "event", rows: 0, bytes: 0 }),
	);
});
