/** States of exports, and sums of their metrics. */
import type { BatchExport, BatchExportDay, BatchExportRun } from "tenantry-client";

export const DAY_MS = 86_400_000;

export type State = "failing" | "running" | "healthy" | "new" | "paused";

export const isFailure = ({ status }: BatchExportRun) =>
	status === "Failed" || status === "FailedRetryable";

const isInProgress = ({ status }: BatchExportRun) => status === "Starting" || status === "Running";

/** Returns the newest finished run, if it failed. */
export function lastFailure({ latest_runs }: BatchExport) {
	const last = latest_runs.find((run) => !isInProgress(run));
	return last && isFailure(last) && !last.dismissed ? last : undefined;
}

export function stateOf(found: BatchExport): State {
	if (found.paused) return "paused";
	if (found.undelivered || lastFailure(found)) return "failing";
	if (found.latest_runs.length === 0) return "new";
	return found.latest_runs.some(isInProgress) ? "running" : "healthy";
}

type Day = Pick<BatchExportDay, "day" | "rows" | "runs" | "failures">;

/** Returns the sums of several exports for each of the last days (UTC), oldest first. */
export function sumByDay(found: readonly BatchExportDay[], days: number) {
	const today = Math.floor(Date.now() / DAY_MS);
	const sums = new Map<string, Day>(
		Array.from({ length: days }, (_, i) => {
			const day = new Date((today - days + 1 + i) * DAY_MS).toISOString().slice(0, 10);
			return [day, { day, rows: 0, runs: 0, failures: 0 }];
		}),
	);
	for (const { day, rows, runs, failures } of found) {
		const sum = sums.get(day);
		if (!sum) continue;
		sum.rows += rows;
		sum.runs += runs;
		sum.failures += failures;
	}
	return [...sums.values()];
}
