import { expect } from "vitest";
import { INTERVALS } from "../../../src/db/schema/batch_exports.ts";
import { LENGTHS } from "../../../src/exports/engine/grid.ts";
import { changesOf, type Range } from "../../../src/exports/engine/ranges.ts";
import type { Window } from "../../../src/exports/engine/windows.ts";
import { type Random, seeded } from "../../support/random.ts";
import { live } from "./histories.ts";
import { modelled } from "./modelled.ts";

const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

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

const kindOf = ({ latest_error, dismissed }: Range) =>
	latest_error === null ? "delivered" : dismissed ? "dismissed" : "missing";

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
				dismissed: random.chance(0.3),
				runs: 0,
				rows: 0,
				bytes: 0,
			};
		const rows = random.integer(0, 1000);
		return { start, end, latest_error: null, dismissed: false, runs: 1, rows, bytes: 50 * rows };
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

/**
 * Checks that runs and ranges say the same before, while and after runs are folded, in so many
 * histories.
 */
export async function foldHistories(histories: number) {
	let folded = 0;
	for (let seed = 1; seed <= histories; seed += 1) {
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
				const differs = kindOf(range) !== (next && kindOf(next));
				expect(!next || isApart || (differs && range.end === next.start), `seed ${seed}`).toBe(
					true,
				);
			}
		}
	}
	// The histories aren't trivial.
	expect(folded).toBeGreaterThan(50 * histories);
}
