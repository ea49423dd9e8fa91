import { Unavailable } from "./destinations/destination.ts";

/** How many tries in a row may fail without progress, and how long to wait between them (docs/exports.md#runs). */
export const MAX_TRIES = 5;
const MIN_DELAY_MS = 5000;
const MAX_DELAY_MS = 2 * 60_000;

/** The longest wait that a receiver can ask for with Retry-After. */
const MAX_RETRY_AFTER_MS = 60 * 60_000;

/** How long to wait after so many failed tries: 5 s, 15 s, 45 s, 2 min, or as long as the other side asks for. */
export const delayAfter = (tries: number, error: unknown) =>
	Math.max(
		Math.min(MIN_DELAY_MS * 3 ** (tries - 1), MAX_DELAY_MS),
		error instanceof Unavailable
			? Math.min((error.retry_after ?? 0) * 1000, MAX_RETRY_AFTER_MS)
			: 0,
	);
