import { exponentialBackoff } from "../../delivery/backoff.ts";
import { MINUTE_MS } from "../../lib/durations.ts";

/** How many tries in a row may fail without progress (docs/exports.md#runs). */
export const MAX_TRIES = 5;

/** Milliseconds to wait after a failed try: 5 s, 15 s, 45 s, 2 min, or Retry-After. */
export const delayAfter = exponentialBackoff({ first: 5000, factor: 3, max: 2 * MINUTE_MS });
