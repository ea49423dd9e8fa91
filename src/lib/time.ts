export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** How much the clocks of those who sign in people and jobs may differ from ours. */
export const CLOCK_TOLERANCE_MS = 2 * MINUTE_MS;

/** Formats a time in milliseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.sssZ`, which sorts as text. */
export const iso = (at: number) => new Date(at).toISOString();

/** Returns the current time in the format of `iso`. */
export const now = () => new Date().toISOString();
