export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** How much the clocks of those who sign in people and jobs may differ from ours. */
export const CLOCK_TOLERANCE_MS = 2 * MINUTE_MS;
