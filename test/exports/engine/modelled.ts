import { v7 } from "uuid";
import { expect } from "vitest";
import { INTERVALS } from "../../../src/db/schema/batch_exports.ts";
import { GRID, type Grid, gridOf, inUtc } from "../../../src/exports/engine/grid.ts";
import {
	dueWindows,
	firstMissing,
	reschedule,
	resume,
	resumeWithBackfill,
	schedule,
	type Window,
} from "../../../src/exports/engine/windows.ts";
import { type Random, seeded } from "../../support/random.ts";
import { flaw, followAdvice, live, overlap, type Subject } from "./histories.ts";

const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

/** An export of the functions that decide about windows, without a database. */
export function modelled(start: number, random: Random): Subject {
	let now = start;
	const runs: Window[] = [];
	const missing: Window[] = [];
	let backfills: { grid: Grid; range: Window }[] = [];
	const id = v7();
	const range = { id, start_at: null, end_at: null };
	let row = {
		...range,
		...inUtc("hour"),
		paused: false,
		last_paused_at: null as string | null,
		...schedule({ ...range, ...inUtc("hour") }, now),
	};
	const set = (columns: Partial<typeof row>) => {
		row = { ...row, ...columns };
	};
	type Passed = { windows: Window[]; skipped: Window | null; paused: Window | null };
	const pass = ({
		windows,
		skipped,
		paused,
		columns,
	}: Passed & { columns: Partial<typeof row> }) => {
		runs.push(...windows);
		missing.push(...[skipped, paused].filter((part) => part !== null));
		set(columns);
	};
	const isIn = (range: Window) => (run: Window) => run.start < range.end && run.end > range.start;
	function advance() {
		backfills = backfills.flatMap(({ grid, range }) => {
			const window = firstMissing(grid, range, runs.filter(isIn(range)));
			if (window === null) return [];
			runs.push(window);
			return [{ grid, range: { ...range, start: window.end } }];
		});
	}
	const begin = (range: Window) => {
		if (range.start < range.end) backfills.push({ grid: gridOf(row), range });
	};
	return {
		async wait(ms, isUp) {
			const until = now + ms;
			for (;;) {
				const due = isUp && !row.paused ? Math.max(now, Date.parse(row.due_at)) : until;
				now = Math.min(due, until);
				if (now < due || row.paused || !isUp || due >= until) break;
				const { windows, skipped, next } = dueWindows(row, now + 1);
				pass({ windows, skipped, paused: null, columns: next });
			}
			now = until;
			for (let n = random.integer(0, 3); n > 0; n -= 1) advance();
		},
		async pause() {
			if (!row.paused) set({ paused: true, last_paused_at: iso(now) });
		},
		async unpause(backfill) {
			if (!row.paused) return;
			const resumed = backfill ? resumeWithBackfill(row, now) : undefined;
			pass(resumed ?? resume(row, row, now));
			if (resumed) begin(resumed.range);
			set({ paused: false });
		},
		async change(grid) {
			if (GRID.every((field) => grid[field] === row[field])) return;
			const isBehind = row.paused || dueWindows(row, now).skipped !== null;
			set({ ...grid, ...reschedule(row, { ...row, ...grid }, now) });
			expect(!isBehind && dueWindows(row, now).skipped !== null, "passes over windows").toBe(false);
		},
		async backfill(range) {
			if (!backfills.some((one) => isIn(range)(one.range))) begin(range);
		},
		async drain() {
			while (backfills.length > 0) advance();
		},
		state: async () => ({ until: row.next_start_at, runs, missing }),
	};
}

/**
 * Checks that every moment before the schedule is exported once by arrival, or the log says how, in
 * so many histories.
 */
export async function exportHistories(histories: number) {
	let runs = 0;
	for (let seed = 1; seed <= histories; seed += 1) {
		const random = seeded(seed);
		// Near the days on which clocks change.
		const day = random.pick(["03-01", "03-25", "03-30", "10-01", "10-22", "10-29"]);
		const date = Date.parse(`${random.integer(2020, 2030)}-${day}T10:20:00Z`);
		const start = date + random.integer(0, 1000) * 61_007;
		const subject = modelled(start, random);
		await live(subject, random, { steps: 24, intervals: INTERVALS, maxDowntime: 48 * HOUR });
		expect(overlap((await subject.state()).runs), `seed ${seed}`).toBe(false);
		await followAdvice(subject);
		const state = await subject.state();
		const first = iso(Math.floor(start / HOUR) * HOUR);
		expect(flaw(state.runs, first, state.until), `seed ${seed}`).toBeNull();
		runs += state.runs.length;
	}
	// The histories aren't trivial.
	expect(runs).toBeGreaterThan(50 * histories);
}
