import { env } from "cloudflare:workers";
import { and, eq, isNull } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import {
	batchExportBackfills,
	batchExportRuns,
	batchExports,
} from "../../../src/db/schema/batch_exports.ts";
import { foldOldRuns } from "../../../src/exports/engine/fold.ts";
import { runDueExports as tick } from "../../../src/exports/engine/schedule.ts";
import type { Window } from "../../../src/exports/engine/windows.ts";
import { seeded } from "../../support/random.ts";
import { db, rowOf, world } from "../../support/world.ts";
import { flaw, followAdvice, live, overlap, type Subject } from "./histories.ts";
import { exportHistories } from "./modelled.ts";
import { foldHistories } from "./range_histories.ts";
import { latestIdAt, turnOf } from "./turn.ts";

const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

/** Launches nothing: the test ends the runs. */
const still: Env = {
	...env,
	EXPORT_RUNS: Object.assign(Object.create(env.EXPORT_RUNS), { createBatch: async () => [] }),
};

/**
 * An export of the API, with a clock that the test sets. If `isFolded`, all but its newest runs are
 * soon folded.
 */
async function created(start: number, isFolded = false): Promise<Subject> {
	vi.useFakeTimers({ toFake: ["Date"], now: start });
	const { here } = await world();
	const body = { name: "Export", interval: "hour", destination: { type: "NoOp", config: {} } };
	const { body: made } = await here("POST", "/batch_exports", { body, env: still });
	const path = `/batch_exports/${made.id}`;
	const its = eq(batchExportRuns.batch_export_id, rowOf(made.id));
	const post = async (below: string, body = {}) =>
		(await here("POST", `${path}${below}`, { body, env: still })).status;
	const row = async () => {
		const [found] = await db.select().from(batchExports).where(eq(batchExports.uuid, made.id));
		if (!found) throw new Error("The export is gone.");
		return found;
	};
	async function work() {
		await tick(still, Date.now());
		await db
			.update(batchExportRuns)
			.set({ status: "Completed", finished_at: iso(Date.now()), state: null })
			.where(and(its, isNull(batchExportRuns.finished_at)));
		const at = isFolded ? await turnOf((await row()).id) : 0;
		if (isFolded) await foldOldRuns({ ...still, RUN_RETENTION_DAYS: "0" }, at);
	}
	return {
		async wait(ms, isUp) {
			const until = Date.now() + ms;
			while (isUp) {
				const { paused, due_at } = await row();
				const due = Date.parse(due_at) + 1;
				if (paused || due >= until) break;
				vi.setSystemTime(Math.max(Date.now(), due));
				await work();
			}
			vi.setSystemTime(until);
			if (isUp) await work();
		},
		async pause() {
			expect(await post("/pause")).toBe(200);
		},
		async unpause(backfill) {
			expect(await post("/unpause", { backfill })).toBe(200);
		},
		async change(grid) {
			const { status } = await here("PATCH", path, { body: grid, env: still });
			expect(status).toBe(200);
		},
		async backfill({ start, end }) {
			const status = await post("/backfill", { by: "arrival", start_at: start, end_at: end });
			expect([200, 409]).toContain(status);
		},
		async drain() {
			const running = and(
				eq(batchExportBackfills.batch_export_id, rowOf(made.id)),
				eq(batchExportBackfills.status, "Running"),
			);
			while ((await db.select().from(batchExportBackfills).where(running)).length > 0) await work();
		},
		async state() {
			const { next_start_at } = await row();
			const { data_interval_start: start, data_interval_end: end, by } = batchExportRuns;
			const runs = await db.select({ start, end, by }).from(batchExportRuns).where(its);
			expect(runs.filter((run) => run.by !== "arrival")).toEqual([]);
			const { body: log } = await here("GET", `${path}/logs?search=by arrival: &limit=1000`);
			const missing = log.results.map(({ message }: { message: string }): Window => {
				const { by, start_at, end_at } = JSON.parse(/\{.+\}/.exec(message)?.[0] ?? "");
				expect(by).toBe("arrival");
				return { start: start_at, end: end_at };
			});
			const { body: old } = await here("GET", `${path}/ranges?limit=1000`);
			const ranges = old.results.map(({ start_at, end_at, latest_error }: typeof old): Window => {
				expect(latest_error).toBeNull();
				return { start: start_at, end: end_at };
			});
			expect(ranges.length > 0).toBe(isFolded);
			return { until: next_start_at, runs: [...runs, ...ranges], missing };
		},
	};
}

test("1,000 histories of the functions that decide about windows and ranges", async () => {
	await exportHistories(1000);
	await foldHistories(1000);
});

test.each([
	[1, false],
	[2, false],
	[3, false],
	[4, false],
	[1, true],
	[2, true],
])(
	"an export's rows and log have every window once: history %i, old runs are folded: %j",
	async (seed, isFolded) => {
		const random = seeded(seed);
		const now = isFolded ? latestIdAt() : Date.now();
		const start = (Math.ceil(now / HOUR) + 1 / 3) * HOUR;
		const subject = await created(start, isFolded);
		if (isFolded) await subject.wait(60 * HOUR, true);
		await live(subject, random, {
			steps: isFolded ? 10 : 14,
			intervals: ["hour", "every 15 minutes", "day", ...(isFolded ? [] : ["week" as const])],
			maxDowntime: 30 * HOUR,
		});
		expect(overlap((await subject.state()).runs)).toBe(false);
		await followAdvice(subject);
		const state = await subject.state();
		expect(flaw(state.runs, iso(Math.floor(start / HOUR) * HOUR), state.until)).toBeNull();
	},
);
