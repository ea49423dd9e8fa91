/** The interval of polling while something is running, in milliseconds. */
export const BUSY_MS = 3000;

/** The interval of polling while nothing is running, in milliseconds. */
export const IDLE_MS = 15_000;
