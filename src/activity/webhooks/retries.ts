import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../lib/durations.ts";

/** The delays after the first failures of an event. After that, always the last one (docs/webhooks.md#retries). */
const PAUSES_MS = [
	5000,
	5 * MINUTE_MS,
	30 * MINUTE_MS,
	2 * HOUR_MS,
	5 * HOUR_MS,
	10 * HOUR_MS,
	14 * HOUR_MS,
	20 * HOUR_MS,
];

const MAX_PAUSE_MS = 20 * HOUR_MS;

/** Spreads the attempts of endpoints that failed at the same time. */
const JITTER = 0.1;

/** How long an endpoint can fail before it is disabled. */
export const MAX_FAILING_MS = 5 * DAY_MS;

/**
 * Returns when an event is retried, in milliseconds since 1970.
 * @param failures the number of failed attempts
 * @param failingSince when the endpoint first failed after its last success; the last attempt is `MAX_FAILING_MS` later
 * @param retryAfter how long the endpoint asks to wait, in seconds
 */
export function nextAttempt(
	at: number,
	{
		failures,
		failingSince,
		retryAfter = 0,
	}: { failures: number; failingSince: number; retryAfter?: number | undefined },
) {
	const pause = PAUSES_MS[failures - 1] ?? MAX_PAUSE_MS;
	const spread = pause * (1 + Math.random() * JITTER);
	const wanted = Math.min(Math.max(spread, retryAfter * 1000), MAX_PAUSE_MS);
	return Math.min(at + wanted, Math.max(failingSince + MAX_FAILING_MS, at + 1000));
}
