import { HOUR_MS } from "../lib/time.ts";
import { UnavailableError } from "../outbound/errors.ts";

/** Returns how many milliseconds a server asked to wait in Retry-After; 0 if it didn't ask. */
export const retryAfterOf = (error: unknown) =>
	error instanceof UnavailableError ? (error.retry_after ?? 0) * 1000 : 0;

/**
 * Returns a function for how many milliseconds to wait after a failed attempt: the delay with its
 * number (the first is 1), after the last always that; or longer if the server asked for it.
 * @param maxAsked how long a server can make us wait
 * @param jitter up to this part of a delay is added at random, to spread retries
 */
export const backoff =
	(delays: number[], { maxAsked = HOUR_MS, jitter = 0 } = {}) =>
	(attempts: number, asked: number) => {
		const last = delays.at(-1) ?? 0;
		const delay = (delays[attempts - 1] ?? last) * (1 + Math.random() * jitter);
		return Math.max(Math.min(delay, last), Math.min(asked, maxAsked));
	};

/** Returns a number below `range` that is always the same for a UUID, so that work is spread. */
export const spread = (uuid: string, range: number) =>
	(Number.parseInt(uuid.slice(-8), 16) / 2 ** 32) * range;
