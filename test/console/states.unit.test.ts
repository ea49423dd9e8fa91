import type { BatchExportDay, BatchExportRun } from "tenantry-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { lastFailure, stateOf, sumByDay } from "../../packages/console/src/pages/overview/state.ts";
import { at, exportWith, runOf } from "./support/exports.ts";

const NOW = Date.parse(at(12));

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});

afterEach(() => {
	vi.useRealTimers();
});

const daysAgo = (days: number) => at(12 - days * 24);

const run = (status: BatchExportRun["status"], finished_at: string | null = daysAgo(1)) =>
	runOf(-12, { id: status, status, finished_at });

/** An export with these runs, newest first. */
const exporting = (latest_runs: BatchExportRun[], paused = false) =>
	exportWith({ latest_runs, paused });

const [done, failed, retryable, cancelled] = [
	run("Completed"),
	run("Failed"),
	run("FailedRetryable"),
	run("Cancelled"),
];
const [running, starting] = [run("Running", null), run("Starting", null)];

describe("the state of an export", () => {
	test.each([
		["new without runs", [], "new"],
		["healthy if its last run completed", [done, failed], "healthy"],
		["failing if its last run failed", [failed, done], "failing"],
		["failing if its last run failed and may be retried", [retryable, done], "failing"],
		["failing while the run after a failed one is under way", [running, failed], "failing"],
		[
			"failing while several runs after a failed one are under way",
			[starting, running, failed],
			"failing",
		],
		["running while a run after a completed one is under way", [starting, done, failed], "running"],
		["running during its first run", [running], "running"],
		["healthy after a cancelled run", [cancelled, failed], "healthy"],
	] as const)("is %s", (_, runs, state) => {
		expect(stateOf(exporting([...runs]))).toBe(state);
	});

	test("is paused whatever its runs say", () => {
		for (const runs of [[], [done], [failed], [running]])
			expect(stateOf(exporting(runs, true))).toBe("paused");
	});

	test("has the failed run that ended last", () => {
		expect(lastFailure(exporting([running, failed, retryable]))).toBe(failed);
		expect(lastFailure(exporting([done, failed]))).toBeUndefined();
		expect(lastFailure(exporting([running]))).toBeUndefined();
	});
});

test("the rows of several exports are added by day (UTC), with days without a run", () => {
	const day = (day: string, rows: number, failures = 0): BatchExportDay => ({
		day,
		rows,
		bytes: 0,
		seconds: 0,
		runs: 1,
		failures,
	});
	const found = [
		day("2026-03-10", 5),
		day("2026-03-08", 7, 1),
		day("2026-03-10", 10),
		day("2026-03-07", 1000),
		day("2026-03-11", 1000),
	];
	expect(sumByDay(found, 3)).toEqual([
		{ day: "2026-03-08", rows: 7, runs: 1, failures: 1 },
		{ day: "2026-03-09", rows: 0, runs: 0, failures: 0 },
		{ day: "2026-03-10", rows: 15, runs: 2, failures: 0 },
	]);
});
