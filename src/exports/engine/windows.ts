import { INTERVALS } from "../../db/schema/batch_exports.ts";
import { spread } from "../../delivery/backoff.ts";
import { pluralize } from "../../lib/text.ts";
import { iso } from "../../lib/time.ts";
import {
	boundariesIn,
	boundaryAfter,
	boundaryBefore,
	boundaryPast,
	GRID,
	type Grid,
	type Interval,
	inUtc,
	LENGTHS,
	partsIn,
	windowAfter,
	windowsIn as windowsFrom,
} from "./grid.ts";

/** The interval [`start`, `end`), in RFC 3339, UTC. */
export type Window = { start: string; end: string };

/** The `due_at` of an export without further windows, which sorts after all others. */
const NEVER = "9999-12-31T23:59:59.999Z";

/** How long rows may take to appear in ClickHouse, and clocks may differ. */
const SETTLE_MS = 30_000;

/** How many missed windows are caught up. */
export const MAX_CATCH_UP_WINDOWS = 24;

/** Formats a time, at most `NEVER`. */
const clamped = (at: number) => iso(Math.min(at, Date.parse(NEVER)));

/** Returns an export's fixed delay in ms, so that not all start at once when a window ends. */
export const delay = (id: string, interval: Interval) =>
	Math.max(SETTLE_MS, spread(id, LENGTHS[interval] / 12));

/** Returns the possible ends of a window in UTC around `at`: one for each interval. */
export const endsAcross = (at: number) =>
	INTERVALS.map((interval) => clamped(boundaryPast(inUtc(interval), at)));

type Scheduled = Grid & {
	id: string;
	start_at: string | null;
	end_at: string | null;
};

/**
 * Where the schedule of an export has come. What arrived before `next_start_at` was exported or
 * passed over, so it never goes back: no two windows overlap. `next_end_at` is the end of the next
 * window.
 */
type Position = { next_start_at: string; next_end_at: string };

/** Returns the columns for the window [`start`, `end`), unless it ends after `end_at`. */
const due = (row: Scheduled, start: number, end: number) => ({
	next_start_at: clamped(start),
	next_end_at: clamped(end),
	due_at:
		row.end_at !== null && end > Date.parse(row.end_at)
			? NEVER
			: clamped(end + delay(row.id, row.interval)),
});

/** Returns the end of the first window that ends at `start_at` or contains it. */
const firstEnd = (row: Scheduled) =>
	row.start_at === null ? Number.NEGATIVE_INFINITY : boundaryAfter(row, Date.parse(row.start_at));

/** Returns the start of that window. */
const firstStart = (row: Scheduled) =>
	row.start_at === null
		? Number.NEGATIVE_INFINITY
		: boundaryBefore(row, Date.parse(row.start_at) - 1);

/** Returns the columns for the window [`start`, `end`), or a later one because of `start_at`. */
const dueFrom = (row: Scheduled, start: number, end: number) =>
	due(row, start, Math.max(end, firstEnd(row)));

/** Returns the columns of an export whose schedule has come to `start`. */
const scheduleFrom = (row: Scheduled, start: number) =>
	dueFrom(row, start, boundaryPast(row, start));

/** Schedules the first window with `from`, or after `start_at`. */
export const schedule = (row: Scheduled, from: number) =>
	scheduleFrom(row, boundaryBefore(row, from));

/** Returns the start of the next scheduled window. */
const nextStart = (row: Scheduled & Position) =>
	Math.max(Date.parse(row.next_start_at), firstStart(row));

/** Whether the windows of two schedules have the same boundaries. */
const isSameGrid = (a: Grid, b: Grid) => GRID.every((field) => a[field] === b[field]);

/**
 * Schedules an export whose grid or range has changed. After a change of the grid, the next window
 * bridges the two: it begins where the old one stopped, and ends at the last boundary of the new one
 * that has passed, or at the next one. If the export is paused, it ends by the pause, because later
 * windows may have to be skipped.
 */
export function reschedule(
	before: Scheduled & Position & { paused: boolean; last_paused_at: string | null },
	after: Scheduled,
	now: number,
) {
	const start = Date.parse(before.next_start_at);
	const hasEnded = before.end_at !== null && before.next_end_at > before.end_at;
	if (hasEnded || nextStart(before) > now)
		return scheduleFrom(after, Math.max(start, boundaryBefore(after, now)));
	if (isSameGrid(before, after)) return dueFrom(after, start, Date.parse(before.next_end_at));
	const pausedAt = before.paused ? Date.parse(before.last_paused_at ?? NEVER) : now;
	const end = boundaryBefore(after, Math.min(now, pausedAt));
	return end > start ? dueFrom(after, start, end) : scheduleFrom(after, start);
}

/** Returns the number of windows of an export that end by `until`, and by `end_at`. */
function countUntil(row: Scheduled & Position, until: number) {
	const last = Math.min(until, row.end_at === null ? until : Date.parse(row.end_at));
	const first = Date.parse(row.next_end_at);
	return last < first ? 0 : boundariesIn(row, first, last) + 1;
}

/** Returns the end of the window `n` windows after the next one. */
function endAfter(row: Position & Grid, n: number) {
	const next = Date.parse(row.next_end_at);
	return n === 0 ? next : boundaryPast(row, next, n);
}

/** Consecutive windows that aren't run. */
export type Skipped = Window & { windows: number };

/** Returns the due windows (at most 24), older ones to skip, and the next window's columns. */
export function dueWindows(row: Scheduled & Position, now: number) {
	const n = countUntil(row, now - delay(row.id, row.interval));
	const older = Math.max(0, n - MAX_CATCH_UP_WINDOWS);
	const startOf = (i: number) => (i === 0 ? nextStart(row) : endAfter(row, i - 1));
	const windows = Array.from({ length: n - older }, (_, i): Window => {
		const at = older + i;
		return { start: clamped(startOf(at)), end: clamped(endAfter(row, at)) };
	});
	const skipped: Skipped | null =
		older > 0 ? { start: clamped(startOf(0)), end: clamped(startOf(older)), windows: older } : null;
	const next = n === 0 ? Date.parse(row.next_start_at) : startOf(n);
	return { windows, skipped, next: due(row, next, endAfter(row, n)) };
}

/**
 * Schedules an export that is unpaused, after its columns have changed from `before` to `after`.
 * - `windows`, oldest first, ended before the pause but hadn't started yet, so they still have to
 *   run.
 * - `skipped` are older ones, if there are more than can be caught up.
 * - `paused` are the windows that ended during the pause, which are not run.
 */
export function resume(
	before: Scheduled & Position & { paused: boolean; last_paused_at: string | null },
	after: Scheduled,
	now: number,
) {
	const isChanged = ([...GRID, "start_at", "end_at"] as const).some(
		(field) => after[field] !== before[field],
	);
	const columns = isChanged
		? reschedule(before, after, now)
		: due(after, Date.parse(before.next_start_at), Date.parse(before.next_end_at));
	const row = { ...after, ...columns };
	const pausedAt = Date.parse(before.last_paused_at ?? before.next_start_at);
	const none = { windows: [], skipped: null, paused: null, columns };
	if (countUntil(row, now) <= countUntil(row, pausedAt)) return none;
	const until = Math.min(pausedAt, row.end_at === null ? pausedAt : Date.parse(row.end_at));
	const { windows, skipped, next } = dueWindows({ ...row, end_at: clamped(until) }, now);
	const rest = { ...row, ...next };
	const n = countUntil(rest, now);
	const last = endAfter(rest, n - 1);
	return {
		windows,
		skipped,
		paused: { start: clamped(nextStart(rest)), end: clamped(last), windows: n },
		columns: due(row, last, endAfter(rest, n)),
	};
}

/**
 * Schedules an export that is unpaused and whose missed windows are exported by a backfill. `range`
 * contains these windows: all that are due since the schedule stopped, or since an earlier time to
 * which somebody has set `last_paused_at`.
 */
export function resumeWithBackfill(
	row: Scheduled & Position & { last_paused_at: string | null },
	now: number,
) {
	const { next: columns } = dueWindows(row, now);
	const pausedAt = Date.parse(row.last_paused_at ?? NEVER);
	const stopped = Date.parse(row.next_start_at);
	const start = Math.max(
		pausedAt < stopped ? boundaryBefore(row, pausedAt) : stopped,
		firstStart(row),
	);
	const range = { start: clamped(start), end: columns.next_start_at };
	return { range, columns, windows: [], skipped: null, paused: null };
}

/** Returns the number of parts into which the boundaries of the grid divide a range. */
export const partsOf = (grid: Grid, { start, end }: Window) =>
	partsIn(grid, Date.parse(start), Date.parse(end));

/**
 * Returns the first window in a range that none of the runs overlaps: up to the next boundary of
 * the grid, the next run or the end of the range. Null if the runs cover the range.
 */
export function firstMissing(grid: Grid, range: Window, runs: Window[]): Window | null {
	let [at, end] = [range.start, range.end];
	for (const run of runs.toSorted((a, b) => (a.start < b.start ? -1 : 1))) {
		if (run.end <= at) continue;
		if (run.start > at) {
			end = run.start < end ? run.start : end;
			break;
		}
		at = run.end;
	}
	const boundary = clamped(boundaryPast(grid, Date.parse(at)));
	return at < end ? { start: at, end: boundary < end ? boundary : end } : null;
}

/** Returns the number of complete windows from `start`, and the window after `done` of them. */
export function windowsIn(grid: Grid, start: string, end: string, done = 0) {
	const from = Date.parse(start);
	const at = (n: number) => clamped(windowAfter(grid, from, n));
	const total = windowsFrom(grid, from, Date.parse(end));
	return { total, window: { start: at(done), end: at(done + 1) } };
}

/** Returns the last window that has ended. */
export function lastWindow(grid: Grid, now: number): Window {
	const end = boundaryBefore(grid, now);
	return { start: clamped(boundaryBefore(grid, end - 1)), end: clamped(end) };
}

/** Texts about windows that aren't run, in logs and events. */

/** Why windows are skipped after downtime. */
export const LIMIT = `At most ${MAX_CATCH_UP_WINDOWS} missed windows are caught up.`;

/** Why windows that ended during a pause have no runs. */
export const PAUSED = "The export was paused.";

/** Says how to export what arrived in a range that the schedule has passed over. */
export const howToExport = ({ start, end }: Window) =>
	`Export what arrived in this range with a backfill by arrival: ${JSON.stringify({ by: "arrival", start_at: start, end_at: end })}.`;

const describe = ({ windows, start, end }: Skipped) =>
	`${pluralize(windows, "window")}, from ${start} to ${end}`;

/** Returns the log entry of windows that are skipped after downtime. */
export const describeSkipped = (skipped: Skipped) =>
	`Skipped: ${describe(skipped)}. ${LIMIT} ${howToExport(skipped)}`;

/** The log entry of an export that is unpaused. `paused`: windows that ended in the pause. */
export const describeUnpaused = (paused: Skipped | null) =>
	paused
		? `The export was unpaused. Not exported: ${describe(paused)}. ${howToExport(paused)}`
		: "The export was unpaused.";

/** Why windows that ended while an export was deleted have no runs. */
export const WAS_DELETED = "The export was deleted.";

/** The log entry of an export that is restored. `missed`: windows that ended while it was deleted. */
export const describeRestored = (missed: Skipped | null) =>
	missed
		? `The export was restored. Not exported: ${describe(missed)}. ${howToExport(missed)}`
		: "The export was restored.";
