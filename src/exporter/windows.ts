import type { INTERVALS } from "../db/schema.ts";

export type Interval = (typeof INTERVALS)[number];

/** From `start`, before `end`; RFC 3339, UTC. */
export type Window = { start: string; end: string };

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** In milliseconds. UTC's days are all of one length. */
export const LENGTHS: Record<Interval, number> = {
	hour: HOUR,
	day: DAY,
	week: 7 * DAY,
	"every 5 minutes": 5 * MINUTE,
	"every 15 minutes": 15 * MINUTE,
};

/** 1970-01-05, a Monday: where the grid of every interval has a line. */
const MONDAY = 4 * DAY;

/** When no run starts any more: later times are longer texts, which sort before all others. */
const NEVER = "9999-12-31T23:59:59.999Z";

/**
 * A run starts at least this long after its window's end, since the clocks of D1 and of workers may differ a little, and
 * rows of another source may take a while to appear. D1 itself sets when a row arrived, as it writes the row.
 */
const SETTLE_MS = 30_000;

/** So many windows are caught up, at most. */
export const MAX_CATCH_UP_WINDOWS = 24;

const iso = (at: number) => new Date(Math.min(at, Date.parse(NEVER))).toISOString();

/** The line of the interval's grid at or before `at`. */
export const boundaryBefore = (interval: Interval, at: number) => {
	const length = LENGTHS[interval];
	return Math.floor((at - MONDAY) / length) * length + MONDAY;
};

/** The line of the interval's grid at or behind `at`. */
const boundaryAfter = (interval: Interval, at: number) =>
	boundaryBefore(interval, at - 1) + LENGTHS[interval];

/**
 * How long after a window's end its run starts, in milliseconds: for each export its own share of the interval's first
 * twelfth, so that not all start at once.
 */
export const delay = (id: string, interval: Interval) =>
	Math.max(SETTLE_MS, (Number.parseInt(id.slice(-8), 16) / 2 ** 32) * (LENGTHS[interval] / 12));

type Scheduled = {
	id: string;
	interval: Interval;
	start_at: string | null;
	end_at: string | null;
};

/** The columns that say when the window which ends at `end` is run; no run is triggered after `end_at`. */
const due = (of: Scheduled, end: number) => ({
	next_end_at: iso(end),
	due_at:
		of.end_at !== null && end > Date.parse(of.end_at)
			? NEVER
			: iso(end + delay(of.id, of.interval)),
});

/**
 * The first window that an export runs whose rows are wanted since `from`: that which it lies in, or the first to end at
 * or behind `start_at`.
 */
export function schedule(of: Scheduled, from: number) {
	const under = boundaryBefore(of.interval, from) + LENGTHS[of.interval];
	const first = of.start_at === null ? under : boundaryAfter(of.interval, Date.parse(of.start_at));
	return due(of, Math.max(under, first));
}

/** Where the window begins that the schedule runs next. */
export const nextStart = ({ interval, next_end_at }: { interval: Interval; next_end_at: string }) =>
	Date.parse(next_end_at) - LENGTHS[interval];

/** What the schedule of an export becomes whose interval or range changed: no window that ended is left out for it. */
export function reschedule(
	before: Scheduled & { next_end_at: string },
	after: Scheduled,
	now: number,
) {
	const over = before.end_at !== null && before.next_end_at > before.end_at;
	return schedule(after, over ? now : Math.min(now, nextStart(before)));
}

/**
 * The windows that are due `now`, oldest first, the newest 24 at most; how many older ones are passed over; and when
 * the next is due.
 */
export function dueWindows(of: Scheduled & { next_end_at: string }, now: number) {
	const length = LENGTHS[of.interval];
	const first = Date.parse(of.next_end_at);
	const until = Math.min(
		now - delay(of.id, of.interval),
		of.end_at === null ? now : Date.parse(of.end_at),
	);
	const n = Math.max(0, Math.floor((until - first) / length) + 1);
	const passed = Math.max(0, n - MAX_CATCH_UP_WINDOWS);
	const windows = Array.from({ length: n - passed }, (_, i): Window => {
		const end = first + (passed + i) * length;
		return { start: iso(end - length), end: iso(end) };
	});
	return { windows, passed, next: due(of, first + n * length) };
}

/**
 * What the schedule of a paused export becomes as it goes on: windows that ended during the pause are left out, but none
 * that was still to start when it began: `windows`, oldest first, are to be run.
 */
export function resume(
	before: Scheduled & { next_end_at: string; last_paused_at: string | null },
	after: Scheduled,
	now: number,
) {
	const { last_paused_at, end_at } = before;
	if (last_paused_at === null) return { windows: [], columns: schedule(after, now) };
	if (iso(boundaryBefore(after.interval, now)) <= last_paused_at)
		return { windows: [], columns: reschedule(before, after, now) };
	const until = end_at !== null && end_at < last_paused_at ? end_at : last_paused_at;
	const { windows } = dueWindows({ ...before, end_at: until }, now);
	return { windows, columns: schedule(after, now) };
}

/** How many whole windows there are from `start` on, and the first of them behind `done` windows. */
export function within(interval: Interval, start: string, end: string, done = 0) {
	const length = LENGTHS[interval];
	const total = Math.floor((Date.parse(end) - Date.parse(start)) / length);
	const at = Date.parse(start) + done * length;
	return { total, window: { start: iso(at), end: iso(at + length) } };
}

/** The last window that is over. */
export function lastWindow(interval: Interval, now: number): Window {
	const end = boundaryBefore(interval, now);
	return { start: iso(end - LENGTHS[interval]), end: iso(end) };
}
