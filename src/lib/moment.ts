import { regexes } from "zod/v4/core";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./time.ts";

const DATETIME = regexes.datetime({ offset: true });

const UNITS: Record<string, number> = {
	s: 1000,
	M: MINUTE_MS,
	h: HOUR_MS,
	d: DAY_MS,
	w: 7 * DAY_MS,
};

const MOMENT =
	/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,3})\d*)?)?(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/i;

/** Formats a time, or returns undefined if the year isn't 1 to 9999. */
function format(at: Date) {
	const year = at.getUTCFullYear();
	return year >= 1 && year <= 9999 ? at.toISOString() : undefined;
}

/** Parses an ISO 8601 time, by default UTC. Undefined if invalid, or not in 1 to 9999. */
export function readMoment(value: string) {
	const [match, date, time = "00:00", seconds = "00", ...rest] = MOMENT.exec(value) ?? [];
	const [fraction = "0", hours = "+00", minutes = "00"] = rest;
	const full = `${date}T${time}:${seconds}.${fraction}${hours}:${minutes}`;
	// The pattern alone accepts 2026-02-30, which Date would read as March 2.
	if (!match || !DATETIME.test(full)) return undefined;
	return format(new Date(full));
}

/** A time before now: a number and a unit. `m` are months, `M` minutes, as in similar services. */
const RELATIVE_MOMENT = /^-(\d{1,6})([sMhdwmy])$/;

/** Months before a time, at most on the last day of the month. */
function monthsBefore(now: Date, months: number) {
	const at = new Date(now);
	at.setUTCMonth(at.getUTCMonth() - months);
	if (at.getUTCDate() !== now.getUTCDate()) at.setUTCDate(0);
	return at;
}

/** Parses a time such as `-2d`. Returns undefined if it is invalid, or before the year 1. */
export function readRelativeMoment(value: string, now = new Date()) {
	const [, digits, unit = ""] = RELATIVE_MOMENT.exec(value) ?? [];
	if (digits === undefined) return undefined;
	const n = Number(digits);
	const length = UNITS[unit];
	return format(
		length === undefined
			? monthsBefore(now, unit === "y" ? n * 12 : n)
			: new Date(now.getTime() - n * length),
	);
}
