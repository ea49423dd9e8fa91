import { env } from "cloudflare:workers";
import { and, asc, eq, isNull } from "drizzle-orm";
import { beforeEach, expect, vi } from "vitest";
import {
	batchExportRuns,
	batchExports,
	type RUN_STATUSES,
} from "../../../src/db/schema/batch_exports.ts";
import { foldOldRuns } from "../../../src/exports/engine/fold.ts";
import { runDueExports as tick } from "../../../src/exports/engine/schedule.ts";
import { db, world } from "../../support/world.ts";
import { latestIdAt, turnOf } from "./turn.ts";

export const DAY = 86_400_000;
export const iso = (at: number) => new Date(at).toISOString();

/** Launches and folds nothing: the tests end and fold the runs. */
export const still: Env = {
	...env,
	RUN_RETENTION_DAYS: "10000",
	EXPORT_RUNS: Object.assign(Object.create(env.EXPORT_RUNS), { createBatch: async () => [] }),
};

/**
 * Six in the morning, when every run of the day has started. It never goes back, because ids don't.
 */
let clock = Math.floor(latestIdAt() / DAY) * DAY + DAY / 4;

/** Sets the clock to a new day before each test. */
export function stopDays() {
	beforeEach(() => wait(1));
}

/** Lets days pass in which nothing happens. */
export function wait(days: number) {
	clock += days * DAY;
	vi.useFakeTimers({ toFake: ["Date"], now: clock });
}

type Status = (typeof RUN_STATUSES)[number];

/** A daily export that the test drives. Its first window begins at `start`. */
export async function daily() {
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
				wait(Math.min(10, days - i));
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

export const delivered = ({ at }: Daily, from: number, until: number, more = {}) => ({
	start_at: at(from),
	end_at: at(until),
	by: "arrival",
	latest_error: null,
	dismissed: false,
	runs: until - from,
	rows: 10 * (until - from),
	bytes: 100 * (until - from),
	...more,
});

export const missing = (
	of: Daily,
	from: number,
	until: number,
	latest_error: string,
	dismissed = false,
) => delivered(of, from, until, { latest_error, dismissed, runs: 0, rows: 0, bytes: 0 });
