/**
 * No test may depend on how fast the machine is: whatever has a time limit gets one that only a hang reaches. Importing
 * this extends the product's own limits, all of which are timers or signals.
 */
import { vi } from "vitest";

/** Shorter than a test's own limit, so that a failure says what was waited for. */
const HANG_MS = 240_000;

/** Limits below this are a test's: it expects them to run out. */
const SHORTEST_PRODUCT_LIMIT_MS = 3_000;

let extended = (milliseconds: number) => Math.max(milliseconds, HANG_MS);

const limit = (milliseconds: number) =>
	milliseconds < SHORTEST_PRODUCT_LIMIT_MS
		? milliseconds
		: extended(milliseconds);

const { setTimeout } = globalThis;
const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (milliseconds: number) => timeout(limit(milliseconds));
Object.assign(globalThis, {
	setTimeout: (callback: () => void, milliseconds = 0, ...rest: []) =>
		setTimeout(callback, limit(milliseconds), ...rest),
});

/**
 * Runs an action during which the product's limits run out at once. Nothing that it waits for may have one, but for what
 * is to run out.
 */
export async function withoutPatience<T>(action: () => Promise<T>): Promise<T> {
	const before = extended;
	extended = () => 10;
	try {
		return await action();
	} finally {
		extended = before;
	}
}

/** Tries until nothing is thrown, and returns what it came to. */
export const eventually = <T>(attempt: () => T | Promise<T>) =>
	vi.waitFor(attempt, { timeout: HANG_MS, interval: 50 });
