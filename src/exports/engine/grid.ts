/** The boundaries between the windows of exports (docs/exports.md#runs), also for the console. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../lib/time.ts";
import { localTime, timeOf, WEEKDAYS, type Weekday } from "../../lib/zone.ts";

export { WEEKDAYS };

/** The lengths of intervals, in milliseconds, without changes of clocks. */
export const LENGTHS = {
	hour: HOUR_MS,
	day: DAY_MS,
	week: 7 * DAY_MS,
	"every 5 minutes": 5 * MINUTE_MS,
	"every 15 minutes": 15 * MINUTE_MS,
};

export type Interval = keyof typeof LENGTHS;

/** What determines the boundaries. null: UTC, midnight, and Monday. */
export type Grid = {
	interval: Interval;
	time_zone: string | null;
	hour: number | null;
	weekday: Weekday | null;
};

/** Returns the length of the shortest window: clocks are set forward by at most an hour. */
export const shortestOf = ({ interval, time_zone }: Grid) =>
	LENGTHS[interval] - (time_zone === null ? 0 : HOUR_MS);

/** Returns the grid of an interval in UTC. */
export const inUtc = (interval: Interval): Grid => ({
	interval,
	time_zone: null,
	hour: null,
	weekday: null,
});

/** The names of the fields. */
export const GRID = ["interval", "time_zone", "hour", "weekday"] as const;

/** Returns these fields of a row, or these columns of a table. */
export const gridOf = <I, Z, H, W>(
	of: Record<"interval", I> & Record<"time_zone", Z> & Record<"hour", H> & Record<"weekday", W>,
) => {
	const { interval, time_zone, hour, weekday } = of;
	return { interval, time_zone, hour, weekday };
};

/** 1970-01-05, a Monday: a boundary of every interval in UTC. */
const MONDAY = 4 * DAY_MS;

/** Boundaries at the local times `phase` + n · `length`. */
type Clock = { zone: string | null; phase: number; length: number };

const clockOf = ({ interval, time_zone, hour, weekday }: Grid): Clock => ({
	zone: time_zone,
	phase: MONDAY + (hour ?? 0) * HOUR_MS + WEEKDAYS.indexOf(weekday ?? "monday") * DAY_MS,
	length: LENGTHS[interval],
});

/** Returns the last boundary at or before `at`. */
function lastAt({ zone, phase, length }: Clock, at: number) {
	const local = Math.floor((localTime(zone, at) - phase) / length) * length + phase;
	// A change of the clocks can move a boundary to either side of `at`.
	const near = [local + length, local].map((time) => timeOf(zone, time));
	return near.find((boundary) => boundary <= at) ?? timeOf(zone, local - length);
}

/**
 * Returns the boundary `n` windows after a boundary. Clocks move boundaries by hours, or by a whole
 * day where a zone skips one, so it is the last one before half a window more.
 */
const moved = (clock: Clock, boundary: number, n: number) =>
	n === 0 ? boundary : lastAt(clock, boundary + (n + 0.5) * clock.length);

/** Returns the number of windows between two boundaries. */
const countOf = ({ length }: Clock, from: number, until: number) =>
	Math.round((until - from) / length);

/** Returns the last boundary at or before `at`. */
export const boundaryBefore = (grid: Grid, at: number) => lastAt(clockOf(grid), at);

/** Returns the boundary `n` windows after the last one at or before `at`: by default, the next. */
export function boundaryPast(grid: Grid, at: number, n = 1) {
	const clock = clockOf(grid);
	return moved(clock, lastAt(clock, at), n);
}

/** Returns the first boundary at or after `at`. */
export const boundaryAfter = (grid: Grid, at: number) => boundaryPast(grid, at - 1);

/** Returns the number of boundaries after `from`, and at or before `until`. */
export const boundariesIn = (grid: Grid, from: number, until: number) =>
	countOf(clockOf(grid), boundaryBefore(grid, from), boundaryBefore(grid, until));

/** Returns the number of parts into which the boundaries divide a range. */
export const partsIn = (grid: Grid, start: number, end: number) =>
	countOf(clockOf(grid), boundaryBefore(grid, start), boundaryAfter(grid, end));

/**
 * Returns the clock of windows that begin at `start`: at that local time of each day, or that local
 * time and weekday of each week.
 */
function clockFrom(grid: Grid, start: number): Clock {
	const clock = clockOf(grid);
	return lastAt(clock, start) === start ? clock : { ...clock, phase: localTime(clock.zone, start) };
}

/** Returns the number of complete windows from `start`. */
export const windowsIn = (grid: Grid, start: number, end: number) => {
	const clock = clockFrom(grid, start);
	return Math.max(0, countOf(clock, start, lastAt(clock, end)));
};

/** Returns where the window after `n` windows from `start` begins. */
export const windowAfter = (grid: Grid, start: number, n: number) =>
	moved(clockFrom(grid, start), start, n);
