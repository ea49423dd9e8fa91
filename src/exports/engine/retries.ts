import { backoff } from "../../delivery/backoff.ts";

/** How many attempts in a row may fail without progress (docs/exports.md#runs). */
export const MAX_ATTEMPTS = 5;

/** Returns how many milliseconds to wait after a failed attempt. */
export const delayAfter = backoff([5000, 15_000, 45_000, 120_000]);
