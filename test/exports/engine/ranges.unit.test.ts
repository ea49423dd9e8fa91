import { expect, test } from "vitest";
import { changesOf, merge, type Range } from "../../../src/exports/engine/ranges.ts";
import { foldHistories } from "./range_histories.ts";

const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();

const delivered = (start: number, end: number, runs = end - start): Range => ({
	start: at(start),
	end: at(end),
	latest_error: null,
	dismissed: false,
	runs,
	rows: 10 * runs,
	bytes: 100 * runs,
});

const missing = (start: number, end: number, latest_error = "No.", dismissed = false): Range => ({
	start: at(start),
	end: at(end),
	latest_error,
	dismissed,
	runs: 0,
	rows: 0,
	bytes: 0,
});

test("ranges that touch or overlap are one, with the sums of both", () => {
	expect(merge([delivered(2, 3), delivered(0, 1), delivered(1, 2)])).toEqual([delivered(0, 3)]);
	expect(merge([delivered(0, 4), delivered(1, 2)])).toEqual([delivered(0, 4, 5)]);
	expect(merge([delivered(0, 1), delivered(2, 3)])).toEqual([delivered(0, 1), delivered(2, 3)]);
});

test("a gap stays a gap, with the latest error, until it is delivered", () => {
	expect(merge([missing(0, 1, "First."), missing(1, 2, "Second."), delivered(2, 3)])).toEqual([
		missing(0, 2, "Second."),
		delivered(2, 3),
	]);
	expect(merge([missing(0, 1, "First."), missing(0, 1, "Second.")])).toEqual([
		missing(0, 1, "Second."),
	]);
	expect(merge([missing(0, 5), delivered(1, 2), delivered(3, 4)])).toEqual([
		missing(0, 1),
		delivered(1, 2),
		missing(2, 3),
		delivered(3, 4),
		missing(4, 5),
	]);
	expect(merge([missing(1, 2), delivered(0, 3)])).toEqual([delivered(0, 3)]);
});

test("a day of runs changes one range", () => {
	const day = Array.from({ length: 24 }, (_, i) => delivered(24 + i, 25 + i));
	expect(changesOf([delivered(0, 24)], day)).toEqual({ removed: [], written: [delivered(0, 48)] });
	expect(changesOf([delivered(0, 24), delivered(48, 50)], day)).toEqual({
		removed: [delivered(48, 50)],
		written: [delivered(0, 50)],
	});
});

test("runs and ranges say the same before, while and after runs are folded", async () => {
	await foldHistories(150);
});
