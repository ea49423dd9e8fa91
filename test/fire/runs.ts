/** The exports of the fire test, and their runs. */
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import type { Owner } from "../../scripts/server.ts";
import { HANG_MS } from "../support/hang.ts";
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
	status: z.string(),
	latest_error: z.string().nullable(),
	data_interval_end: z.string(),
	finished_at: z.string().nullable(),
	records_completed: z.int(),
});
const Runs = z.object({ results: z.array(Run) });

type Run = z.infer<typeof Run>;

/** The exports of a project. Requests are repeated while the server is down. */
export function exportsOf(url: string, { key, project }: Owner) {
	async function ask(path: string, body?: object): Promise<unknown> {
		const deadline = Date.now() + RUNS_TIMEOUT_MS;
		for (;;) {
			const answer = await fetch(`${url}/api/projects/${project}/batch_exports${path}`, {
				headers: {
					authorization: `Bearer ${key}`,
					"content-type": "application/json",
				},
				...(body && { method: "POST", body: JSON.stringify(body) }),
				signal: AbortSignal.timeout(HANG_MS),
			})
				.then(async (answer) => ({
					status: answer.status,
					text: await answer.text(),
				}))
				.catch((error: unknown) => ({ status: 599, text: String(error) }));
			if (answer.status < 300) return JSON.parse(answer.text);
			if (body || answer.status < 500 || Date.now() > deadline)
				throw new Error(`${path}: ${answer.text}`);
			await sleep(RETRY_MS);
		}
	}

	async function runs(id: string) {
		return Runs.parse(await ask(`/${id}/runs/?limit=100`)).results;
	}

	return {
		async create({ name, destination }: Output) {
			const body = { name, interval: INTERVAL, destination };
			return Export.parse(await ask("/", body)).id;
		},

		runs,

		/**
		 * Waits until the runs of all exports have ended, including that of the window that ends at `end`.
		 * @returns the runs of each export; not all have ended if something hangs
		 */
		async waitForRuns(ids: string[], end: number) {
			const deadline = Date.now() + RUNS_TIMEOUT_MS;
			const isDone = (list: Run[]) =>
				list.every(({ finished_at }) => finished_at !== null) &&
				list.some(({ data_interval_end: at }) => Date.parse(at) >= end);
			for (;;) {
				const all = await Promise.all(ids.map(runs));
				if (all.every(isDone) || Date.now() > deadline) return all;
				await sleep(POLL_MS);
			}
		},
	};
}

/**
 * What is wrong with the runs of an export; "" if nothing is. The export has to have a window for each
 * boundary from `first` to `last`.
 */
export function judgeRuns(
	runs: Pick<Run, "status" | "latest_error" | "data_interval_end">[],
	first: number,
	last: number,
) {
	const failed = runs.find(({ status }) => status !== "Completed");
	if (failed)
		return `the run of ${failed.data_interval_end} is ${failed.status}: ${failed.latest_error}`;
	const ends = runs.map((run) => Date.parse(run.data_interval_end));
	for (let end = first; end <= last; end += INTERVAL_MS) {
		const n = ends.filter((one) => one === end).length;
		if (n !== 1) return `${new Date(end).toISOString()} has ${n} runs`;
	}
	return "";
}
