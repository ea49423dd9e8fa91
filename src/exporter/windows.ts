import { iso } from "../db/now.ts";
import { INTERVALS } from "../db/schema/batch_exports.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../http/durations.ts";

export type Interval = (typeof INTERVALS)[number];

/** The interval [`start`, `end`), in RFC 3339, UTC. */
export type Window = { start: string; end: string };

/** The lengths of intervals, in milliseconds. All days in UTC have the same length. */
export const LENGTHS: Record<Interval, number> = {
	hour: HOUR_MS,
	day: DAY_MS,
	week: 7 * DAY_MS,
	"every 5 minutes": 5 * MINUTE_MS,
	"every 15 minutes": 15 * MINUTE_MS,
};

/** 1970-01-05, a Monday: a boundary of every interval. */
const MONDAY = 4 * DAY_MS;

/** The `due_at` of an export without further windows. Later times would be longer texts, which sort before all others. */
const NEVER = "9999-12-31T23:59:59.999Z";

/**
 * A run starts at least this long after its window's end: the clocks of D1 and of workers may differ slightly, and rows in
 * ClickHouse may take a while to appear.
 */
const SETTLE_MS = 30_000;

/** How many missed windows are caught up. */
export const MAX_CATCH_UP_WINDOWS = 24;

/** Formats a time, at most `NEVER`. */
const clamped = (at: number) => iso(Math.min(at, Date.parse(NEVER)));

/** Returns the last boundary of the interval's grid at or before `at`. */
export const boundaryBefore = (interval: Interval, at: number) => {
	const length = LENGTHS[interval];
	return Math.floor((at - MONDAY) / length) * length + MONDAY;
};

/** Returns the first boundary of the interval's grid at or after `at`. */
const boundaryAfter = (interval: Interval, at: number) =>
	boundaryBefore(interval, at - 1) + LENGTHS[interval];

/**
 * Returns how long after a window's end its run starts, in milliseconds. Each export has a fixed delay of up to a twelfth of
 * its interval, so that not all start at once.
 */
export const delay = (id: string, interval: Interval) =>
	Math.max(SETTLE_MS, (Number.parseInt(id.slice(-8), 16) / 2 ** 32) * (LENGTHS[interval] / 12));

/** Returns the possible ends of a window on the grid that begins before `at` and ends after it: one for each interval. */
export const endsAcross = (at: number) =>
	INTERVALS.map((interval) => clamped(boundaryBefore(interval, at) + LENGTHS[interval]));

type Scheduled = {
	id: string;
	interval: Interval;
	start_at: string | null;
	end_at: string | null;
};

/** Returns the columns that schedule the window that ends at `end`. Windows after `end_at` don't run. */
const due = (row: Scheduled, end: number) => ({
	next_end_at: clamped(end),
	due_at:
		row.end_at !== null && end > Date.parse(row.end_at)
			? NEVER
			: clamped(end + delay(row.id, row.interval)),
});

/**
 * Schedules the first window of an export: the one that contains `from`, or the first that ends at or after `start_at`,
 * whichever is later.
 */
export function schedule(row: Scheduled, from: number) {
	const current = boundaryBefore(row.interval, from) + LENGTHS[row.interval];
	const first =
		row.start_at === null ? current : boundaryAfter(row.interval, Date.parse(row.start_at));
	return due(row, Math.max(current, first));
}

/** Returns the start of the next scheduled window. */
export const nextStart = ({ interval, next_end_at }: { interval: Interval; next_end_at: string }) =>
	Date.parse(next_end_at) - LENGTHS[interval];

/** Schedules an export whose interval or range has changed, without gaps. */
export function reschedule(
	before: Scheduled & { next_end_at: string },
	after: Scheduled,
	now: number,
) {
	const hasEnded = before.end_at !== null && before.next_end_at > before.end_at;
	return schedule(after, hasEnded ? now : Math.min(now, nextStart(before)));
}

/**
 * Returns the windows that are due (at most the newest 24, oldest first), how many older ones are `skipped`, and the columns
 * for the next window.
 */
export function dueWindows(row: Scheduled & { next_end_at: string }, now: number) {
	const length = LENGTHS[row.interval];
	const first = Date.parse(row.next_end_at);
	const until = Math.min(
		now - delay(row.id, row.interval),
		row.end_at === null ? now : Date.parse(row.end_at),
	);
	const n = Math.max(0, Math.floor((until - first) / length) + 1);
	const skipped = Math.max(0, n - MAX_CATCH_UP_WINDOWS);
	const windows = Array.from({ length: n - skipped }, (_, i): Window => {
		const end = first + (skipped + i) * length;
		return { start: clamped(end - length), end: clamped(end) };
	});
	return { windows, skipped, next: due(row, first + n * length) };
}

/**
 * Schedules an export that is unpaused. Skips windows that ended during the pause. `windows`, oldest first, are the ones that
 * ended before the pause but hadn't started yet, so they still have to run.
 */
export function resume(
	before: Scheduled & { next_end_at: string; last_paused_at: string | null },
	after: Scheduled,
	now: number,
) {
	const { last_paused_at, end_at } = before;
	if (last_paused_at === null) return { windows: [], columns: schedule(after, now) };
	if (clamped(boundaryBefore(after.interval, now)) <= last_paused_at)
		return { windows: [], columns: reschedule(before, after, now) };
	const until = end_at !== null && end_at < last_paused_at ? end_at : last_paused_at;
	const { windows } = dueWindows({ ...before, end_at: until }, now);
	return { windows, columns: schedule(after, now) };
}

/** Returns how many complete windows a range has, counted from `start`, and the window after the first `done`. */
export function windowsIn(interval: Interval, start: string, end: string, done = 0) {
	const length = LENGTHS[interval];
	const total = Math.floor((Date.parse(end) - Date.parse(start)) / length);
	const at = Date.parse(start) + done * length;
	return { total, window: { start: clamped(at), end: clamped(at + length) } };
}

/** Returns the last window that has ended. */
export function lastWindow(interval: Interval, now: number): Window {
	const end = boundaryBefore(interval, now);
	return { start: clamped(end - LENGTHS[interval]), end: clamped(end) };
}
