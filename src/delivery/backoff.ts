import { HOUR_MS } from "../lib/durations.ts";
import { UnavailableError } from "../outbound/errors.ts";

/** The maximum Retry-After. Longer ones are shortened to it. */
const MAX_RETRY_AFTER_MS = HOUR_MS;

/** Returns how many milliseconds a server asked to wait, at most an hour; 0 if it didn't ask. */
const retryAfterOf = (error: unknown) =>
	error instanceof UnavailableError
		? Math.min((error.retry_after ?? 0) * 1000, MAX_RETRY_AFTER_MS)
		: 0;

/**
 * Returns a function for how many milliseconds to wait after a failed attempt: `first`, then `factor` times as long after each
 * further one, at most `max`; or longer if the server asked for it in Retry-After. The first attempt is number 1.
 */
export const exponentialBackoff =
	({ first, factor, max }: { first: number; factor: number; max: number }) =>
	(attempts: number, error: unknown) =>
		Math.max(Math.min(first * factor ** (attempts - 1), max), retryAfterOf(error));

/**
 * Returns a number of milliseconds below `range` that is always the same for a UUID, so that not all work of an hour starts at
 * once.
 */
export const spread = (uuid: string, range: number) =>
	(Number.parseInt(uuid.slice(-8), 16) / 2 ** 32) * range;
