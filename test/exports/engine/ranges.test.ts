import { expect, test } from "vitest";
import { INTERVALS } from "../../../src/db/schema/batch_exports.ts";
import { changesOf, merge, type Range } from "../../../src/exports/engine/ranges.ts";
import { LENGTHS, type Window } from "../../../src/exports/engine/windows.ts";
import { type Random, seeded } from "../../fire/random.ts";
import { live } from "./histories.ts";
import { modelled } from "./modelled.ts";

const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

const at = (hour: number) => iso(Date.UTC(2026, 0, 1, hour));

const delivered = (start: number, end: number, runs = end - start): Range => ({
	start: at(start),
	end: at(end),
	latest_error: null,
	runs,
	rows: 10 * runs,
	bytes: 100 * runs,
});

const missing = (start: number, end: number, latest_error = "No."): Range => ({
	start: at(start),
	end: at(end),
	latest_error,
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

/**
 * Says of every moment whether it was delivered, and otherwise whether a run tried to: where one of
 * these begins.
 */
function say(ranges: Range[]) {
	const changes = ranges
		.flatMap(({ start, end, latest_error }) => [
			{ at: start, by: 1, isDelivered: latest_error === null },
			{ at: end, by: -1, isDelivered: latest_error === null },
		])
		.toSorted((a, b) => (a.at < b.at ? -1 : 1));
	const parts: { is: string; at: string }[] = [];
	const over = { delivered: 0, missing: 0 };
	for (const [i, { at, by, isDelivered }] of changes.entries()) {
		over[isDelivered ? "delivered" : "missing"] += by;
		if (changes[i + 1]?.at === at) continue;
		const is = over.delivered > 0 ? "delivered" : over.missing > 0 ? "missing" : "unknown";
		if (parts.at(-1)?.is !== is) parts.push({ is, at });
	}
	return parts;
}

const sumsOf = (ranges: Range[]) =>
	(["runs", "rows", "bytes"] as const).map((name) =>
		ranges.reduce((sum, range) => sum + range[name], 0),
	);

/** Gives the windows of a history outcomes, as runs that are folded one by one. */
function outcomes(windows: Window[], random: Random) {
	const failing = random.chance(0.5) ? 0.02 : 0.4;
	return windows.map(({ start, end }): Range => {
		if (random.chance(failing))
			return {
				start,
				end,
				latest_error: `Error ${random.integer(1, 3)}.`,
				runs: 0,
				rows: 0,
				bytes: 0,
			};
		const rows = random.integer(0, 1000);
		return { start, end, latest_error: null, runs: 1, rows, bytes: 50 * rows };
	});
}

/** Returns the windows of some backfills by event time, which can begin anywhere and overlap. */
const backfilled = (start: number, random: Random) =>
	Array.from({ length: random.integer(0, 4) }, () => {
		const length = LENGTHS[random.pick(INTERVALS)];
		const first = start + random.integer(0, 96) * (HOUR / 4);
		return Array.from({ length: random.integer(1, 20) }, (_, i) => ({
			start: iso(first + i * length),
			end: iso(first + (i + 1) * length),
		}));
	}).flat();

test("in 1,000 histories, runs and ranges say the same before, while and after runs are folded", async () => {
	let folded = 0;
	for (let seed = 1; seed <= 1000; seed += 1) {
		const random = seeded(seed);
		const start = Date.parse("2026-01-01T10:20:00Z") + random.integer(0, 1000) * 61_007;
		const subject = modelled(start, random);
		await live(subject, random, { steps: 12, intervals: INTERVALS, maxDowntime: 48 * HOUR });
		const { runs: scheduled } = await subject.state();
		for (const windows of [scheduled, backfilled(start, random)]) {
			let runs = outcomes(windows, random);
			let ranges: Range[] = [];
			const [said, sums] = [say(runs), sumsOf(runs)];
			while (runs.length > 0) {
				// Not all old runs are folded: some are retried, or belong to unfinished backfills.
				const old = runs.slice(0, random.integer(1, 40)).filter(() => random.chance(0.9));
				const { removed, written } = changesOf(ranges, old);
				// Killed before the batch: nothing has changed.
				if (random.chance(0.1)) continue;
				const starts = new Set([...removed, ...written].map(({ start }) => start));
				ranges = [...ranges.filter(({ start }) => !starts.has(start)), ...written];
				runs = runs.filter((run) => !old.includes(run));
				folded += old.length;
				expect(say([...ranges, ...runs]), `seed ${seed}`).toEqual(said);
				expect(changesOf(ranges, []), `seed ${seed}`).toEqual({ removed: [], written: [] });
			}
			expect(sumsOf(ranges), `seed ${seed}`).toEqual(sums);
			// No two overlap, and neighbours differ.
			const sorted = ranges.toSorted((a, b) => (a.start < b.start ? -1 : 1));
			for (const [i, range] of sorted.entries()) {
				const next = sorted[i + 1];
				const isApart = next && range.end < next.start;
				const differs = (range.latest_error === null) !== (next?.latest_error === null);
				expect(!next || isApart || (differs && range.end === next.start), `seed ${seed}`).toBe(
					true,
				);
			}
		}
	}
	// The histories aren't trivial.
	expect(folded).toBeGreaterThan(50_000);
});
