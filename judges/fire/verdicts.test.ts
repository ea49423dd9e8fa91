import { expect, test } from "vitest";
import { judgeEndpoint } from "./endpoints.ts";
import { judgeRuns } from "./runs.ts";

const judged = (arrived: string[], more: { taken?: string[]; refusals?: string[] } = {}) =>
	judgeEndpoint({ arrived, taken: new Set(more.taken ?? arrived), refusals: more.refusals ?? [] }, [
		"a",
		"b",
		"c",
	]);

test("an endpoint is faultless that took each event, in order at its first arrival", () => {
	expect(judged(["a", "b", "c"])).toBe("");
	expect(judged(["a", "a", "b", "a", "b", "c", "c"])).toBe("");
});

test.each([
	["an event that is missing", judged(["a", "c"]), "1 events were not taken, such as b"],
	[
		"one that was only refused",
		judged(["a", "b", "c"], { taken: ["a", "b"] }),
		"1 events were not",
	],
	["one out of order", judged(["a", "c", "b"]), "the event c arrived out of order, at place 1"],
	["one that isn't in the feed", judged(["a", "b", "c", "d"]), "the event d arrived out of order"],
	["a wrong signature", judged(["a", "b", "c"], { refusals: ["no"] }), "1 wrong signatures: no"],
])("%s is found", (_, verdict, words) => {
	expect(verdict).toContain(words);
});

test("runs cover the time once, by arrival, and completed", () => {
	const run = (from: string, until: string) => ({
		data_interval_start: `2026-01-01T00:${from}:00.000Z`,
		data_interval_end: `2026-01-01T00:${until}:00.000Z`,
		finished_at: "2026-01-01T01:00:00.000Z",
		by: "arrival",
		status: "Completed",
		latest_error: "Oops",
	});
	const [first, second] = [run("00", "05"), run("05", "10")];
	const judged = (...runs: (typeof first)[]) =>
		judgeRuns(runs, Date.parse(first.data_interval_start), Date.parse(second.data_interval_end));
	expect(judged(second, first)).toBe("");
	expect(judged(run("00", "10"))).toBe("");
	expect(judged(first)).toBe("no run exports 2026-01-01T00:05:00.000Z");
	expect(judged(second)).toBe(
		"the run of 2026-01-01T00:10:00.000Z doesn't begin at 2026-01-01T00:00:00.000Z",
	);
	expect(judged(first, second, first)).toBe(
		"the run of 2026-01-01T00:05:00.000Z doesn't begin at 2026-01-01T00:05:00.000Z",
	);
	expect(judged(first, { ...second, by: "event" })).toBe(
		"the run of 2026-01-01T00:10:00.000Z selects by event",
	);
	expect(judged(first, { ...second, status: "FailedRetryable" })).toBe(
		"the run of 2026-01-01T00:10:00.000Z is FailedRetryable: Oops",
	);
});
