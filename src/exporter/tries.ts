import { HOUR_MS, MINUTE_MS } from "../http/durations.ts";
import { UnavailableError } from "../outbound/errors.ts";

/** How many tries in a row may fail without progress, and how long to wait between them (docs/exports.md#runs). */
export const MAX_TRIES = 5;
const MIN_DELAY_MS = 5000;
const MAX_DELAY_MS = 2 * MINUTE_MS;

/** The maximum Retry-After. Longer ones are shortened to it. */
const MAX_RETRY_AFTER_MS = HOUR_MS;

/** Returns how many milliseconds a server asked to wait, at most an hour; 0 if it didn't ask. */
export const retryAfterOf = (error: unknown) =>
	error instanceof UnavailableError
		? Math.min((error.retry_after ?? 0) * 1000, MAX_RETRY_AFTER_MS)
		: 0;

/** Returns how many milliseconds to wait after a failed try: 5 s, 15 s, 45 s, 2 min, or the value of Retry-After. */
export const delayAfter = (tries: number, error: unknown) =>
	Math.max(Math.min(MIN_DELAY_MS * 3 ** (tries - 1), MAX_DELAY_MS), retryAfterOf(error));
