/** The exports of the fire test, and their runs. */
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { HANG_MS } from "../../test/support/hang.ts";
import type { Owner } from "../../test/support/serve.ts";
import type { Output } from "./outputs.ts";

const INTERVAL = "every 5 minutes";
export const INTERVAL_MS = 5 * 60_000;

/** A timeout that is only reached if the server or a run hangs. */
const RUNS_TIMEOUT_MS = 60 * 60_000;

const RETRY_MS = 500;
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

/**
 * Responses after which a request is repeated: the server is down, the first request is in
 * progress, or backfills are running.
 */
const isTemporary = (status: number) => status >= 500 || status === 409 || status === 429;

/** The exports of a project. Requests are repeated while the server is down. */
export function exportsOf(url: string, { key, project }: Owner) {
	async function ask(path: string, method = "GET", body?: object): Promise<unknown> {
		const deadline = Date.now() + RUNS_TIMEOUT_MS;
		const headers = {
			authorization: `Bearer ${key}`,
			"content-type": "application/json",
			...(method === "POST" && { "idempotency-key": crypto.randomUUID() }),
		};
		for (;;) {
			const response = await fetch(`${url}/api/projects/${project}/batch_exports${path}`, {
				method,
				headers,
				...(body && { body: JSON.stringify(body) }),
				signal: AbortSignal.timeout(HANG_MS),
			})
				.then(async (response) => ({
					status: response.status,
					text: await response.text(),
				}))
				.catch((error: unknown) => ({ status: 599, text: String(error) }));
			if (response.status < 300) return JSON.parse(response.text);
			if (!isTemporary(response.status) || Date.now() > deadline)
				throw new Error(`${method} ${path}: ${response.text}`);
			await sleep(RETRY_MS);
		}
	}

	const runs = async (id: string) => Runs.parse(await ask(`/${id}/runs/?limit=1000`)).results;

	async function isBackfilling(id: string) {
		const { results } = Backfills.parse(await ask(`/${id}/backfills/?status=Running`));
		return results.length > 0;
	}

	return {
		async create({ name, destination }: Output) {
			const body = { name, interval: INTERVAL, destination };
			return Export.parse(await ask("/", "POST", body)).id;
		},

		runs,

		pause: (id: string) => ask(`/${id}/pause/`, "POST"),

		unpause: (id: string, backfill: boolean) => ask(`/${id}/unpause/`, "POST", { backfill }),

		setInterval: (id: string, interval = INTERVAL) => ask(`/${id}/`, "PATCH", { interval }),

		repeat: (id: string, run: string) =>
			ask(`/${id}/runs/${run}/retry/`, "POST", { from: "start" }),

		/** Exports what the log says isn't exported, as it says. Returns the number of these ranges. */
		async followAdvice(id: string) {
			const { results } = Log.parse(await ask(`/${id}/logs/?search=by arrival:&limit=1000`));
			for (const { message } of results) {
				const [range = ""] = /\{.+\}/.exec(message) ?? [];
				await ask(`/${id}/backfill/`, "POST", Range.parse(JSON.parse(range)));
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
 * What is wrong with the runs of an export; "" if nothing is. Their windows have to cover the time
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
