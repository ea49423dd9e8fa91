/**
 * No test may depend on how fast the machine is: whatever has a time limit gets one that only a hang reaches. Importing
 * this extends the product's own limits, all of which are timers or signals.
 */
import { onTestFinished, vi } from "vitest";
import { HANG_MS } from "./hang.ts";

/** Limits below this are a test's: it expects them to run out. */
const SHORTEST_PRODUCT_LIMIT_MS = 3_000;

/** While an action is to see limits run out: what they wait for. */
let runOut: Promise<unknown> | undefined;

const { setTimeout } = globalThis;
const timeout = AbortSignal.timeout.bind(AbortSignal);

const extended = (milliseconds: number) => Math.max(milliseconds, HANG_MS);

AbortSignal.timeout = (milliseconds: number) => {
	if (milliseconds < SHORTEST_PRODUCT_LIMIT_MS) return timeout(milliseconds);
	if (!runOut) return timeout(extended(milliseconds));
	const controller = new AbortController();
	const reason = new DOMException("It took too long.", "TimeoutError");
	runOut.then(() => controller.abort(reason));
	return controller.signal;
};

Object.assign(globalThis, {
	setTimeout(callback: () => void, milliseconds = 0, ...rest: []) {
		if (milliseconds < SHORTEST_PRODUCT_LIMIT_MS)
			return setTimeout(callback, milliseconds, ...rest);
		runOut?.then(callback);
		return setTimeout(callback, extended(milliseconds), ...rest);
	},
});

/**
 * Runs an action during which the product's limits run out: at once, or as soon as a condition is met. Nothing else that
 * the action waits for may have a limit.
 */
export async function withoutPatience<T>(
	action: () => Promise<T>,
	condition: Promise<unknown> = Promise.resolve(),
): Promise<T> {
	runOut = condition;
	try {
		return await action();
	} finally {
		runOut = undefined;
	}
}

/** Tries until nothing is thrown, and returns what it came to. */
export const eventually = <T>(attempt: () => T | Promise<T>) =>
	vi.waitFor(attempt, { timeout: HANG_MS, interval: 50 });

/** Uses up what a limiter lets through in its present period. A test repeats this until it meets the same period. */
export async function exhaust(limiter: RateLimit, key: string) {
	let passed = 0;
	while ((await limiter.limit({ key })).success) passed += 1;
	return passed;
}

/** Until the test ends, the clock stands at half past the present hour, so that no hour ends in the middle of it. */
export function stopClock() {
	const hour = 3_600_000;
	const now = (Math.floor(Date.now() / hour) + 0.5) * hour;
	vi.useFakeTimers({ toFake: ["Date"], now });
	onTestFinished(() => {
		vi.useRealTimers();
	});
}
