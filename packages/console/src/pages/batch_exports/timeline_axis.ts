/** The time axis of the timeline, with ticks at hours and days in the zone of the console. */
import { isUtc, ZONE } from "../../ui/zone.ts";
import type { Range } from "./timeline_lanes.ts";

/** @property isDay whether the tick is a midnight between ticks at hours */
export type Tick = { at: number; words: string; isDay: boolean };

/** The possible steps between ticks, in minutes and in days. */
const MINUTES = [15, 30, 60, 120, 180, 360, 720];
const DAYS = [1, 2, 7, 14, 28, 91];

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

const HOUR = new Intl.DateTimeFormat(undefined, { hour: "numeric", ...ZONE });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "short", ...ZONE });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", ...ZONE });

/**
 * Returns a time in the zone of the console, so that ticks are at the same local times on days of
 * 23 or 25 hours.
 */
const local = (start: number, days: number, minutes: number) => {
	const first = new Date(start);
	if (isUtc) return first.setUTCHours(24 * days, minutes, 0, 0);
	return new Date(
		first.getFullYear(),
		first.getMonth(),
		first.getDate() + days,
		0,
		minutes,
	).getTime();
};

/** Returns every `step` minutes of each day, from midnight. */
function withinDays({ start, end }: Range, step: number) {
	const days = Math.ceil((end - start) / MINUTE_MS / DAY_MINUTES) + 1;
	const moments = Array.from({ length: (days * DAY_MINUTES) / step }, (_, i) =>
		local(start, Math.floor((i * step) / DAY_MINUTES), (i * step) % DAY_MINUTES),
	);
	// A local time that daylight saving skips equals the next one, which is already in the list.
	return [...new Set(moments)];
}

const dayOf = (date: Date) => (isUtc ? date.getUTCDay() : date.getDay());

/** Returns midnights, every `step` days. Steps of weeks start on a Monday. */
function ofDays({ start, end }: Range, step: number) {
	const days = Math.ceil((end - start) / MINUTE_MS / DAY_MINUTES) + 1;
	const first = step % 7 === 0 ? -((dayOf(new Date(start)) + 6) % 7) : 0;
	return Array.from({ length: Math.ceil((days - first) / step) + 1 }, (_, i) =>
		local(start, first + i * step, 0),
	);
}

/** Returns the ticks of a range: as many as possible, but at most about `count`. */
export function ticksOf(range: Range, count: number): Tick[] {
	const minutes = (range.end - range.start) / MINUTE_MS;
	const step = MINUTES.find((step) => minutes / step <= count);
	const days = DAYS.find((days) => minutes / DAY_MINUTES / days <= count) ?? 91;
	const moments = step ? withinDays(range, step) : ofDays(range, days);
	return moments
		.filter((at) => at >= range.start && at <= range.end)
		.map((at) => {
			const date = new Date(at);
			const isMidnight = local(at, 0, 0) === at;
			const minute = isUtc ? date.getUTCMinutes() : date.getMinutes();
			const clock = minute === 0 ? HOUR : CLOCK;
			const words = (isMidnight || !step ? DAY : clock).format(date);
			return { at, words, isDay: isMidnight && step !== undefined };
		});
}
