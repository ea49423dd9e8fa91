/**
 * The time zone of all times in the console: the user's, or UTC. Changing it loads the page again,
 * because the times in open fields would otherwise mean others.
 */

const STORED = "tenantry.utc";

/** Whether times are in UTC instead of the user's time zone. */
export const isUtc = globalThis.localStorage?.getItem(STORED) === "yes";

/** The zone of times that are entered. */
export const IN_ZONE = isUtc ? "in UTC" : "in your time zone";

/** Applies to pages that are loaded from now on. */
export const setUtc = (isOn: boolean) => localStorage.setItem(STORED, isOn ? "yes" : "no");

/** The option of `Intl.DateTimeFormat`. */
export const ZONE = isUtc ? { timeZone: "UTC" } : {};

const MOMENT = {
	year: "numeric",
	month: "short",
	day: "numeric",
	hour: "numeric",
	minute: "2-digit",
	timeZoneName: "short",
	...ZONE,
} as const;

/** The format of times, with their zone. */
export const TIME = new Intl.DateTimeFormat(undefined, MOMENT);

export const TIME_WITH_SECONDS = new Intl.DateTimeFormat(undefined, {
	...MOMENT,
	second: "2-digit",
});
