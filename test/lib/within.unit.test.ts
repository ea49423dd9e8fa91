import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { within } from "../../src/lib/within.ts";

const late = new Error("It took too long.");

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
});

test("no timer is left of an action that ends in time, also with an error", async () => {
	expect(await within(1000, late, async () => 1)).toBe(1);
	await expect(within(1000, late, () => Promise.reject(new Error("Other.")))).rejects.toThrow(
		"Other.",
	);
	expect(vi.getTimerCount()).toBe(0);
});

test("an action that takes too long is aborted, and is waited for no longer", async () => {
	let given: AbortSignal | undefined;
	const ended = within(1000, late, (signal) => {
		given = signal;
		return new Promise(() => {});
	});
	const expected = expect(ended).rejects.toBe(late);
	await vi.advanceTimersByTimeAsync(999);
	expect(given?.aborted).toBe(false);
	await vi.advanceTimersByTimeAsync(1);
	await expected;
	expect(given?.reason).toBe(late);
});
