/**
 * Makes tests independent of the speed of the machine. Importing this module extends the product's
 * time limits, all of which are timers or abort signals, so that only a hang reaches them.
 */
import { onTestFinished, vi } from "vitest";
import { HANG_MS, LOCAL_HANG_MS } from "./hang.ts";

/** Shorter limits are set by tests that expect them to be exceeded. */
const SHORTEST_PRODUCT_LIMIT_MS = 3_000;

/** During `withoutPatience`: the time limits are exceeded when this resolves. */
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
 * Runs an action during which the product's time limits are exceeded immediately, or as soon as
 * `condition` resolves. This applies to every time limit in the action.
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

/**
 * Runs an action with full time limits inside an action of `withoutPatience`, such as a wait of the
 * test itself.
 */
export async function patiently<T>(action: () => Promise<T>): Promise<T> {
	const before = runOut;
	runOut = undefined;
	try {
		return await action();
	} finally {
		runOut = before;
	}
}

/** Stops the clock that invocations measure their time with, until the test ends. */
export function stopPerformanceClock() {
	const clock = vi.spyOn(performance, "now").mockReturnValue(0);
	onTestFinished(() => clock.mockRestore());
}

/** What a test spends time on, for `npm run slowest`. Actions at the same time count once. */
const spent = {
	requests: { milliseconds: 0, running: 0, start: 0 },
	waiting: { milliseconds: 0, running: 0, start: 0 },
};
const now = performance.now.bind(performance);

/** Runs an action, and adds its time to what the current test has spent. */
export async function spending<T>(what: keyof typeof spent, action: () => Promise<T>): Promise<T> {
	const time = spent[what];
	if (time.running === 0) time.start = now();
	time.running += 1;
	try {
		return await action();
	} finally {
		time.running -= 1;
		if (time.running === 0) time.milliseconds += now() - time.start;
	}
}

/** Returns the milliseconds that have been spent since the last call. */
export function takeSpent() {
	const { requests, waiting } = spent;
	const taken = { requests: requests.milliseconds, waiting: waiting.milliseconds };
	requests.milliseconds = 0;
	waiting.milliseconds = 0;
	return taken;
}

/** Retries until the attempt doesn't throw, and returns its result. */
export const eventually = <T>(attempt: () => T | Promise<T>) =>
	spending("waiting", () => vi.waitFor(attempt, { timeout: LOCAL_HANG_MS, interval: 50 }));

/**
 * Uses up a rate limiter's current period. Returns how many requests it allowed. The period can end
 * at any moment, so tests repeat this together with their check.
 */
export async function exhaust(limiter: RateLimit, key: string) {
	let passed = 0;
	while ((await limiter.limit({ key })).success) passed += 1;
	return passed;
}

/**
 * Stops the clock at half past the current hour until the test ends, so that no hour ends during
 * the test.
 */
export function stopClock() {
	const hour = 3_600_000;
	const now = (Math.floor(Date.now() / hour) + 0.5) * hour;
	vi.useFakeTimers({ toFake: ["Date"], now });
}
