/**
 * Finds the entries of the timeline: runs by the windows that they cover, ranges that old runs
 * delivered, and gaps.
 */
import type { BatchExport, BatchExportRange, BatchExportRun } from "tenantry-client";
import {
	boundaryBefore,
	boundaryPast,
	type Grid,
	type Interval,
	LENGTHS,
	shortestOf,
	windowAfter,
	windowsIn,
} from "../../../../../src/exports/engine/grid.ts";

const MINUTE = 60_000;

/** A range of time, in milliseconds. */
export type Range = { start: number; end: number };

export type RunEntry = Range & {
	kind: "run";
	key: string;
	run: BatchExportRun;
	/** The number of older runs of other backfills for the same window. */
	older: number;
};

/** The part in view of a range that old runs delivered, which are no longer kept. */
export type RangeEntry = Range & {
	kind: "range";
	key: string;
	whole: BatchExportRange;
	windows: number;
};

/** Consecutive windows without a scheduled run. */
export type GapEntry = Range & {
	kind: "gap";
	key: string;
	windows: number;
	isPaused: boolean;
	/** The number of these windows that backfills have exported. */
	exported: number;
	/** The latest error of old runs of these windows, which are no longer kept. */
	error: string | null;
};

export type Entry = RunEntry | RangeEntry | GapEntry;

/**
 * The entries of what runs by arrival covered, which are those of the schedule, or backfills by
 * event time, oldest first.
 */
export type Lane = { name: "Scheduled" | "Backfills"; entries: Entry[] };

type Span = readonly [windows: number, words: string];

/** The numbers of windows that the timeline can show. The first is the default. */
export const SPANS: Record<Interval, readonly [Span, ...Span[]]> = {
	"every 5 minutes": [
		[72, "6 hours"],
		[288, "24 hours"],
	],
	"every 15 minutes": [
		[96, "24 hours"],
		[288, "3 days"],
	],
	hour: [
		[24, "24 hours"],
		[72, "3 days"],
		[168, "7 days"],
	],
	day: [
		[30, "30 days"],
		[90, "90 days"],
		[365, "1 year"],
	],
	week: [
		[26, "26 weeks"],
		[104, "2 years"],
	],
};

/** Returns a range of this many windows, the last of which contains `until`. */
export function rangeOf(grid: Grid, windows: number, until: number): Range {
	const end = boundaryPast(grid, until);
	return { start: boundaryPast(grid, end, -windows), end };
}

const startOf = (run: BatchExportRun) => Date.parse(run.data_interval_start);
const endOf = (run: BatchExportRun) => Date.parse(run.data_interval_end);

/**
 * Returns the part of a range whose runs are all loaded. If `isPart` is true, the runs of the
 * oldest windows are missing, so a window that seems to have no run may have one.
 */
export function knownOf(range: Range, runs: BatchExportRun[], isPart: boolean): Range {
	if (!isPart) return range;
	return { ...range, start: Math.max(range.start, Math.min(range.end, ...runs.map(endOf))) };
}

/**
 * Returns how long after its window a run can end without being late. Runs start up to a twelfth of
 * the interval later.
 */
const inTime = (interval: Interval) => Math.max(LENGTHS[interval] / 4, 5 * MINUTE);

/**
 * Returns the milliseconds from the end of its window until a scheduled run ended, or until now; 0
 * if it isn't late.
 */
export function lateness(run: BatchExportRun, interval: Interval, now: number) {
	if (run.backfill_id !== null) return 0;
	const ended = run.finished_at === null ? now : Date.parse(run.finished_at);
	const after = ended - endOf(run);
	return after > inTime(interval) ? after : 0;
}

export const isRetried = ({ attempt }: BatchExportRun) => attempt > 1;

/** Returns the part of a range that scheduled runs should cover. */
function dueOf(of: BatchExport, covered: Range[], range: Range, now: number): Range {
	const { interval, created_at, last_paused_at, start_at, end_at } = of;
	const begun = [created_at, last_paused_at ?? created_at].map(Date.parse);
	return {
		start: Math.max(
			range.start,
			boundaryBefore(of, Math.min(...begun, ...covered.map(({ start }) => start))),
			start_at === null ? 0 : boundaryBefore(of, Date.parse(start_at) - 1),
		),
		end: Math.min(
			range.end,
			boundaryBefore(of, now - inTime(interval)),
			end_at === null ? now : boundaryBefore(of, Date.parse(end_at)),
		),
	};
}

/**
 * Returns the parts of a range, at least a window long, that none of the others covers. They must
 * be sorted.
 */
function uncovered(others: Range[], { start, end }: Range, length: number) {
	const gaps: Range[] = [];
	let at = start;
	for (const other of others) {
		if (other.start - at >= length) gaps.push({ start: at, end: Math.min(other.start, end) });
		at = Math.max(at, other.end);
	}
	if (end - at >= length) gaps.push({ start: at, end });
	return gaps.filter((gap) => gap.end - gap.start >= length);
}

/** Returns the number of windows in a range that one of the others covers. */
function exportedIn(grid: Grid, { start, end }: Range, others: Range[]) {
	const boundaries = Array.from({ length: windowsIn(grid, start, end) + 1 }, (_, i) =>
		windowAfter(grid, start, i),
	);
	return boundaries.filter((at, i) => {
		const next = boundaries[i + 1];
		return next && others.some((other) => other.start <= at && other.end >= next);
	}).length;
}

const byTime = (a: Range, b: Range) => a.start - b.start || a.end - b.end;

const entryOf = (run: BatchExportRun, older = 0): RunEntry => ({
	kind: "run",
	key: run.id,
	start: startOf(run),
	end: endOf(run),
	run,
	older,
});

/** Returns the newest backfill run of each window. */
function newestOfEach(runs: BatchExportRun[]) {
	const byWindow = new Map<string, BatchExportRun[]>();
	for (const run of runs) {
		const window = run.data_interval_start + run.data_interval_end;
		byWindow.set(window, [...(byWindow.get(window) ?? []), run]);
	}
	return [...byWindow.values()].flatMap((same) => {
		const [newest, ...older] = same.sort((a, b) => (a.id < b.id ? 1 : -1));
		return newest ? [entryOf(newest, older.length)] : [];
	});
}

/**
 * Returns the entries of the ranges of old runs that select one way: what they delivered, and what
 * they didn't.
 */
function rangesIn(
	all: BatchExportRange[],
	by: BatchExportRange["by"],
	range: Range,
	length: number,
) {
	const entries = all
		.filter((one) => one.by === by)
		.map((whole): RangeEntry => {
			const start = Math.max(range.start, Date.parse(whole.start_at));
			const end = Math.min(range.end, Date.parse(whole.end_at));
			const windows = Math.round((end - start) / length);
			// The start of a range doesn't change when it grows.
			return { kind: "range", key: `${by}-${whole.start_at}`, start, end, whole, windows };
		})
		.filter(({ start, end }) => start < end);
	return {
		delivered: entries.filter(({ whole }) => whole.latest_error === null),
		missed: entries.filter(({ whole }) => whole.latest_error !== null),
	};
}

/** Returns the lanes of the timeline. The lane of backfills is omitted if it is empty. */
export function lanesOf(
	of: BatchExport,
	{ runs, ranges }: { runs: BatchExportRun[]; ranges: BatchExportRange[] },
	range: Range,
	now: number,
): Lane[] {
	const length = LENGTHS[of.interval];
	const shown = runs.filter((run) => startOf(run) < range.end && endOf(run) > range.start);
	const backfilled = shown.filter(({ by }) => by === "event");
	const byEvent = rangesIn(ranges, "event", range, length).delivered;
	const byArrival = rangesIn(ranges, "arrival", range, length);
	const scheduled = [
		...shown.filter(({ by }) => by === "arrival").map((run) => entryOf(run)),
		...byArrival.delivered,
	].sort(byTime);
	const exported = [
		...backfilled.filter(({ status }) => status === "Completed").map((run) => entryOf(run)),
		...byEvent,
	];
	const pausedAt = of.last_paused_at === null ? Number.NaN : Date.parse(of.last_paused_at);
	const due = dueOf(of, scheduled, range, now);
	const gaps = uncovered(scheduled, due, shortestOf(of)).map(
		(gap): GapEntry => ({
			...gap,
			kind: "gap",
			// The key must not change while the range moves: the oldest gap shrinks, and the newest
			// grows.
			key: `gap-${scheduled.find(({ start }) => start >= gap.end)?.key ?? "newest"}`,
			windows: windowsIn(of, gap.start, gap.end),
			isPaused:
				(gap.start <= pausedAt && pausedAt < gap.end) ||
				(of.paused && pausedAt < gap.start && gap.end === due.end),
			exported: exportedIn(of, gap, exported),
			error:
				byArrival.missed
					.sort(byTime)
					.findLast(({ start, end }) => start < gap.end && end > gap.start)?.whole.latest_error ??
				null,
		}),
	);
	const lanes: Lane[] = [{ name: "Scheduled", entries: [...scheduled, ...gaps].sort(byTime) }];
	const backfills = [...byEvent, ...newestOfEach(backfilled)].sort(byTime);
	if (backfills.length > 0) lanes.push({ name: "Backfills", entries: backfills });
	return lanes;
}
