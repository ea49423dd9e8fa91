import { env } from "cloudflare:workers";
import { and, asc, eq, isNull, sql } from "drizzle-orm";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { insertEach } from "../../../src/db/client.ts";
import {
	batchExportRuns,
	batchExports,
	type RUN_STATUSES,
} from "../../../src/db/schema/batch_exports.ts";
import { foldOldRuns } from "../../../src/exports/engine/fold.ts";
import { runDueExports as tick } from "../../../src/exports/engine/schedule.ts";
import { metered } from "../../support/events.ts";
import { db, weighing, world } from "../../support/world.ts";
import { latestIdAt, turnOf } from "./turn.ts";

const DAY = 86_400_000;
const iso = (at: number) => new Date(at).toISOString();

/** Launches and folds nothing: the tests end and fold the runs. */
const still: Env = {
	...env,
	RUN_RETENTION_DAYS: "10000",
	EXPORT_RUNS: Object.assign(Object.create(env.EXPORT_RUNS), { createBatch: async () => [] }),
};

/**
 * Six in the morning, when every run of the day has started. It never goes back, because ids don't.
 */
let clock = Math.floor(latestIdAt() / DAY) * DAY + DAY / 4;

beforeEach(() => {
	clock += DAY;
	vi.useFakeTimers({ toFake: ["Date"], now: clock });
});

afterAll(() => {
	vi.useRealTimers();
});

type Status = (typeof RUN_STATUSES)[number];

/** A daily export that the test drives. Its first window begins at `start`. */
async function daily() {
	const { here } = await world();
	const body = { name: "Export", interval: "day", destination: { type: "NoOp", config: {} } };
	const { body: made } = await here("POST", "/batch_exports", { body, env: still });
	const path = `/batch_exports/${made.id}`;
	const [row] = await db
		.select({ id: batchExports.id })
		.from(batchExports)
		.where(eq(batchExports.uuid, made.id));
	if (!row) throw new Error("The export is gone.");
	const its = eq(batchExportRuns.batch_export_id, row.id);
	const start = Math.floor(clock / DAY) * DAY;
	/** Days after the start. */
	const at = (days: number) => iso(start + days * DAY);
	const runs = () => db.select().from(batchExportRuns).where(its).orderBy(asc(batchExportRuns.id));
	async function end(status: Status = "Completed", latest_error: string | null = null) {
		await tick(still, Date.now());
		await db
			.update(batchExportRuns)
			.set({
				status,
				latest_error,
				records_completed: 10,
				bytes: 100,
				finished_at: iso(Date.now()),
			})
			.where(and(its, isNull(batchExportRuns.finished_at)));
	}
	return {
		here,
		path,
		at,
		runs,
		/** Lets time pass in which all runs end like this. */
		async pass(days: number, status?: Status, latest_error?: string) {
			for (let i = 0; i < days; i += 10) {
				clock += Math.min(10, days - i) * DAY;
				vi.setSystemTime(clock);
				await end(status, latest_error);
			}
		},
		/** Exports a range of days, and returns the backfill. */
		async backfill(by: "arrival" | "event", from: number, until: number) {
			const range = { by, start_at: at(from), end_at: at(until) };
			const response = await here("POST", `${path}/backfill`, { body: range, env: still });
			expect(response).toMatchObject({ status: 200 });
			const { backfill_id } = response.body;
			const status = async () =>
				(await here("GET", `${path}/backfills/${backfill_id}`)).body.status;
			while ((await status()) === "Running") await end();
			return (await here("GET", `${path}/backfills/${backfill_id}`)).body;
		},
		fold: async (DB = env.DB) => foldOldRuns({ ...env, DB }, await turnOf(row.id)),
		ranges: async (query = "") => (await here("GET", `${path}/ranges${query}`)).body,
		count: async () => (await here("GET", `${path}/runs`)).body.count,
	};
}

type Daily = Awaited<ReturnType<typeof daily>>;

const delivered = ({ at }: Daily, from: number, until: number, more = {}) => ({
	start_at: at(from),
	end_at: at(until),
	by: "arrival",
	latest_error: null,
	runs: until - from,
	rows: 10 * (until - from),
	bytes: 100 * (until - from),
	...more,
});

const missing = (of: Daily, from: number, until: number, latest_error: string) =>
	delivered(of, from, until, { latest_error, runs: 0, rows: 0, bytes: 0 });

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
		missing(of, 10, 30, "Cancelled"),
		delivered(of, 0, 10),
	]);
	expect(await of.backfill("arrival", 0, 15)).toMatchObject({ total_runs: 5, finished_runs: 5 });
	await of.pass(70);
	await of.fold();
	expect((await of.ranges()).results).toEqual([
		delivered(of, 30, 110),
		missing(of, 15, 30, "Cancelled"),
		delivered(of, 0, 15),
	]);
	expect(await of.backfill("arrival", 0, 180)).toMatchObject({ total_runs: 15 });
	await of.pass(70);
	await of.fold();
	expect((await of.ranges()).results).toEqual([delivered(of, 0, 180)]);
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
		delivered(of, 2, 6, { by: "event", runs: 5, rows: 50, bytes: 500 }),
		missing(of, 0, 10, "No bucket."),
	]);
	expect(count).toBe(3);
	const page = await of.ranges("?limit=2");
	expect(page.results).toEqual(results.slice(0, 2));
	const next = page.next.slice(page.next.indexOf("?"));
	expect((await of.ranges(next)).results).toEqual(results.slice(2));
	const overlapping = `?after=${of.at(6)}&starts_before=${of.at(10)}`;
	expect(await of.ranges(overlapping)).toMatchObject({ count: 1, results: results.slice(2) });
	expect(await of.backfill("arrival", 0, 40)).toMatchObject({ total_runs: 10 });
	// The backfills still have their numbers.
	const { body } = await of.here("GET", `${of.path}/backfills`);
	expect(body.results).toMatchObject([
		{ finished_runs: 10 },
		{ finished_runs: 2 },
		{ finished_runs: 3 },
	]);
});

test("thousands of failed runs with long errors are folded, with the beginning of each", async () => {
	const of = await daily();
	await of.pass(100);
	const [run] = await of.runs();
	if (!run) throw new Error("The run is gone.");
	const { batch_export_id } = run;
	const n = 2900;
	const start = Date.parse(of.at(-30));
	// Every other one, because gaps beside each other become one.
	const old = Array.from({ length: n }, (_, i) => ({
		batch_export_id,
		id: `00000000-0000-7000-8000-${String(i).padStart(12, "0")}`,
		status: i % 2 ? ("Failed" as const) : ("Completed" as const),
		latest_error: i % 2 ? `${i}: ${"é€🦔".repeat(600)}` : null,
		data_interval_start: iso(start + i * 300_000),
		data_interval_end: iso(start + (i + 1) * 300_000),
		finished_at: iso(start + DAY),
	}));
	for (let i = 0; i < n; i += 290)
		await insertEach(db, batchExportRuns, old.slice(i, i + 290), sql`true`);
	await db
		.update(batchExports)
		.set({ runs: 100 + n })
		.where(eq(batchExports.id, batch_export_id));
	const { env: light, heaviest } = weighing();
	await of.fold(light.DB);
	// The limit of D1.
	expect(heaviest()).toBeLessThan(2_000_000);
	expect(await of.count()).toBe(70);
	const { count, results } = await of.ranges("?limit=1&offset=1");
	expect(count).toBe(n + 1);
	expect(results).toMatchObject([{ latest_error: expect.stringMatching(/^2899: é€🦔.*…$/u) }]);
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
	clock += 100 * DAY;
	vi.setSystemTime(clock);
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

test("a kill, a retry and another tick while runs are folded lose nothing", async () => {
	const of = await daily();
	await of.pass(100);
	const meanwhile = (work: (statements: D1PreparedStatement[]) => Promise<unknown>) =>
		Object.assign(Object.create(env.DB), { batch: work });
	const killed = new Error("Killed.");
	await expect(of.fold(meanwhile(() => Promise.reject(killed)))).rejects.toThrow("Killed");
	expect([await of.count(), (await of.ranges()).count]).toEqual([100, 0]);
	const [oldest] = await of.runs();
	const retried = meanwhile(async (statements) => {
		const retry = `${of.path}/runs/${oldest?.id}/retry`;
		expect(await of.here("POST", retry, { env: still })).toMatchObject({ status: 200 });
		return env.DB.batch(statements);
	});
	await expect(of.fold(retried)).rejects.toThrow("is_current");
	expect([await of.count(), (await of.ranges()).count]).toEqual([100, 0]);
	const other = meanwhile(async (statements) => {
		await of.fold();
		return env.DB.batch(statements);
	});
	await expect(of.fold(other)).rejects.toThrow("is_current");
	const results = [delivered(of, 1, 30)];
	expect((await of.ranges()).results).toEqual(results);
	expect(await of.count()).toBe(71);
	const late = meanwhile(async (statements) => {
		await env.DB.batch(statements);
		throw killed;
	});
	await of.pass(10);
	await expect(of.fold(late)).rejects.toThrow("Killed");
	await of.fold();
	expect((await of.ranges()).results).toEqual([delivered(of, 1, 40)]);
	expect(await of.count()).toBe(71);
	await of.pass(70);
	await of.fold();
	expect((await of.ranges()).results).toEqual([delivered(of, 0, 110)]);
});
