/** Conversions for `<input type="datetime-local">`, which has times without a zone. */
import { isUtc } from "./zone.ts";

const MINUTE_MS = 60_000;

/** Converts a time to the value of an input. */
export function toLocal(at: number) {
	const zone = isUtc ? 0 : new Date(at).getTimezoneOffset() * MINUTE_MS;
	return new Date(at - zone).toISOString().slice(0, 16);
}

/**
 * Converts the value of an input to a time in ISO 8601; null if it is empty.
 * @param meant the initial time of the input, which is returned if the input still shows it. At the
 * end of daylight saving time, two times have the same local time.
 */
export function fromLocal(value: string, meant?: number) {
	if (!value) return null;
	const isMeant = meant !== undefined && toLocal(meant) === value;
	return new Date(isMeant ? meant : isUtc ? `${value}Z` : value).toISOString();
}

/** Returns the hour this many days from now: a page that is drawn again asks for the same list. */
export const hourAfter = (days: number) =>
	`${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 13)}:00:00Z`;
