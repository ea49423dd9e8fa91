import { regexes } from "zod/v4/core";

const DATETIME = regexes.datetime({ offset: true });

const MOMENT =
	/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,3})\d*)?)?(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/i;

/** Parses an ISO 8601 time, in UTC unless it has an offset. Returns undefined if it is invalid, or the year isn't 1 to 9999. */
export function readMoment(value: string) {
	const [match, date, time = "00:00", seconds = "00", ...rest] = MOMENT.exec(value) ?? [];
	const [fraction = "0", hours = "+00", minutes = "00"] = rest;
	const full = `${date}T${time}:${seconds}.${fraction}${hours}:${minutes}`;
	// The pattern alone accepts 2026-02-30, which Date would read as March 2.
	if (!match || !DATETIME.test(full)) return undefined;
	const at = new Date(full);
	const year = at.getUTCFullYear();
	return year >= 1 && year <= 9999 ? at.toISOString() : undefined;
}
