/** The exports of the fire test, and their runs. */
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import type { Owner } from "../../test/support/serve.ts";
import { asking } from "./fire.ts";
import type { Output } from "./outputs.ts";

const INTERVAL = "every 5 minutes";
export const INTERVAL_MS = 5 * 60_000;

/** A timeout that is only reached if the server or a run hangs. */
const RUNS_TIMEOUT_MS = 60 * 60_000;

const POLL_MS = 2_000;

/** The end of the window that contains a time. */
export const windowEnd = (at: number) => (Math.floor(at / INTERVAL_MS) + 1) * INTERVAL_MS;

const Export = z.object({ id: z.string() });

const Run = z.object({
	id: z.string(),
	status: z.string(),
	latest_error: z.string().nullable(),
	by: z.string(),
	data_interval_start: z.string(),
	data_interval_end: z.string(),
	finished_at: z.string().nullable(),
	records_completed: z.int(),
});
const Runs = z.object({ results: z.array(Run) });
const Backfills = z.object({ results: z.array(z.object({ status: z.string() })) });
const Log = z.object({ results: z.array(z.object({ message: z.string() })) });
const Range = z.object({ by: z.string(), start_at: z.string(), end_at: z.string() });

type Run = z.infer<typeof Run>;

/** The exports of a project. Requests are repeated while the server is down. */
export function exportsOf(url: string, { key, project }: Owner) {
	const ask = asking(`${url}/api/projects/${project}/batch_exports`, key);
	const runs = async (id: string) =>
		Runs.parse(await ask("GET", `/${id}/runs/?limit=1000`)).results;

	async function isBackfilling(id: string) {
		const { results } = Backfills.parse(await ask("GET", `/${id}/backfills/?status=Running`));
		return results.length > 0;
	}

	return {
		async create({ name, destination }: Output) {
			const body = { name, interval: INTERVAL, destination };
			return Export.parse(await ask("POST", "/", body)).id;
		},

		runs,

		pause: (id: string) => ask("POST", `/${id}/pause/`),

		unpause: (id: string, backfill: boolean) => ask("POST", `/${id}/unpause/`, { backfill }),

		setInterval: (id: string, interval = INTERVAL) => ask("PATCH", `/${id}/`, { interval }),

		repeat: (id: string, run: string) =>
			ask("POST", `/${id}/runs/${run}/retry/`, { from: "start" }),

		/** Exports what the log says isn't exported, as it says. Returns the number of these ranges. */
		async followAdvice(id: string) {
			const { results } = Log.parse(await ask("GET", `/${id}/logs/?search=by arrival:&limit=1000`));
			for (const { message } of results) {
				const [range = ""] = /\{.+\}/.exec(message) ?? [];
				await ask("POST", `/${id}/backfill/`, Range.parse(JSON.parse(range)));
				while (await isBackfilling(id)) await sleep(POLL_MS);
			}
			return results.length;
		},

		/**
		 * Waits until the runs and backfills of all exports have ended, including the run of the window
		 * that ends at `end`.
		 * @returns the runs of each export; not all have ended if something hangs
		 */
		async waitForRuns(ids: string[], end: number) {
			const deadline = Date.now() + RUNS_TIMEOUT_MS;
			const isDone = (list: Run[]) =>
				list.every(({ finished_at }) => finished_at !== null) &&
				list.some(({ data_interval_end: at }) => Date.parse(at) >= end);
			for (;;) {
				const busy = await Promise.all(ids.map(isBackfilling));
				const all = await Promise.all(ids.map(runs));
				if ((!busy.includes(true) && all.every(isDone)) || Date.now() > deadline) return all;
				await sleep(POLL_MS);
			}
		},
	};
}

export type Exports = ReturnType<typeof exportsOf>;

/**
 * The problem of the runs of an export; "" if there is none. Their windows have to cover the time
 * from `start` to `end` once, by arrival.
 */
export function judgeRuns(
	runs: Omit<Run, "id" | "records_completed">[],
	start: number,
	end: number,
) {
	const failed = runs.find(({ status }) => status !== "Completed");
	if (failed)
		return `the run of ${failed.data_interval_end} is ${failed.status}: ${failed.latest_error}`;
	const other = runs.find(({ by }) => by !== "arrival");
	if (other) return `the run of ${other.data_interval_end} selects by ${other.by}`;
	let at = start;
	for (const run of runs.toSorted((a, b) => (a.data_interval_end < b.data_interval_end ? -1 : 1))) {
		if (Date.parse(run.data_interval_start) !== at)
			return `the run of ${run.data_interval_end} doesn't begin at ${new Date(at).toISOString()}`;
		at = Date.parse(run.data_interval_end);
	}
	return at >= end ? "" : `no run exports ${new Date(at).toISOString()}`;
}
