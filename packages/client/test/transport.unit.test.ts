import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Options, Tenantry } from "../src/index.ts";

const NOW = Date.UTC(2026, 2, 10);

beforeEach(() => {
	vi.useFakeTimers({ now: NOW });
});

afterEach(() => {
	vi.useRealTimers();
	vi.restoreAllMocks();
});

type Answer = { status: number; headers?: Record<string, string>; body?: string };

/** A client whose requests get these answers in turn, then succeed. */
function answering(answers: Answer[], options: Partial<Options> = {}) {
	const requests: { at: number; headers: Headers }[] = [];
	const waits: (number | undefined)[] = [];
	const tenantry = new Tenantry({
		baseUrl: "https://tenantry.test",
		fetch: async (_, init) => {
			const { status, headers, body = "{}" } = answers[requests.length] ?? { status: 200 };
			requests.push({ at: Date.now() - NOW, headers: new Headers(init?.headers) });
			return new Response(body, { status, ...(headers && { headers }) });
		},
		log: ({ retryIn }) => waits.push(retryIn),
		...options,
	});
	return { tenantry, requests, waits };
}

/** Waits for a call while the clock goes forward. */
async function through<T>(call: PromiseLike<T>) {
	const result = Promise.resolve(call).then(
		() => "fulfilled",
		() => "rejected",
	);
	await vi.runAllTimersAsync();
	return result;
}

const failing = (times: number, headers?: Record<string, string>) =>
	Array.from({ length: times }, () => ({ status: 503, ...(headers && { headers }) }));

describe("the delay before another attempt", () => {
	test("is random, up to a limit that doubles each time until it is 20 seconds", async () => {
		const limits = [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000];
		for (const random of [0.999, 0.25, 0]) {
			vi.spyOn(Math, "random").mockReturnValue(random);
			const { tenantry, requests, waits } = answering(failing(8), { maxAttempts: 9 });
			const start = Date.now() - NOW;
			expect(await through(tenantry.health.get())).toBe("fulfilled");
			const expected = limits.map((limit) => limit * random);
			expect(waits).toEqual([...expected, undefined]);
			// The client also waits this long. Timers have whole milliseconds.
			const times = requests.map(({ at }) => at - start);
			expect(times).toHaveLength(9);
			for (const [i, wait] of expected.entries()) {
				const waited = (times[i + 1] ?? 0) - (times[i] ?? 0);
				expect(Math.abs(waited - wait)).toBeLessThanOrEqual(1);
			}
		}
	});

	test("is at least that of Retry-After, in seconds or as a date", async () => {
		vi.spyOn(Math, "random").mockReturnValue(0);
		const inSevenSeconds = new Date(NOW + 7000).toUTCString();
		const { tenantry, requests, waits } = answering([
			{ status: 429, headers: { "retry-after": inSevenSeconds } },
			// The same moment, which has passed.
			{ status: 429, headers: { "retry-after": inSevenSeconds } },
			{ status: 503, headers: { "retry-after": "3" } },
			{ status: 503, headers: { "retry-after": "soon" } },
		]);
		expect(await through(tenantry.health.get())).toBe("fulfilled");
		expect(waits).toEqual([7000, 0, 3000, 0, undefined]);
		// A timer without a delay takes a millisecond.
		expect(requests.map(({ at }) => Math.floor(at / 1000))).toEqual([0, 7, 7, 10, 10]);
	});

	test("is longer than Retry-After if the backoff is", async () => {
		vi.spyOn(Math, "random").mockReturnValue(0.5);
		const { tenantry, waits } = answering(failing(4, { "retry-after": "1" }));
		expect(await through(tenantry.health.get())).toBe("fulfilled");
		expect(waits).toEqual([1000, 1000, 1000, 2000, undefined]);
	});

	test("isn't begun if Retry-After is after the call's time limit, or too long", async () => {
		const answers = failing(1, { "retry-after": new Date(NOW + 31_000).toUTCString() });
		for (const [limits, outcome] of [
			[{ callTimeout: 30_000 }, "rejected"],
			[{ callTimeout: 40_000 }, "fulfilled"],
			[{ callTimeout: 40_000, maxDelay: 30_000 }, "rejected"],
		] as const) {
			vi.setSystemTime(NOW);
			const { tenantry, requests } = answering(answers, limits);
			expect(await through(tenantry.health.get())).toBe(outcome);
			expect(requests).toHaveLength(outcome === "rejected" ? 1 : 2);
		}
	});
});

describe("the Idempotency-Key", () => {
	const keysOf = (requests: { headers: Headers }[]) =>
		requests.map(({ headers }) => headers.get("idempotency-key"));

	test("of a POST is the caller's, in all attempts", async () => {
		const { tenantry, requests } = answering(failing(2));
		const idempotencyKey = "order-17";
		await through(tenantry.organizations.create({ name: "North Ltd" }, { idempotencyKey }));
		expect(keysOf(requests)).toEqual([idempotencyKey, idempotencyKey, idempotencyKey]);
	});

	test("of a POST is otherwise the same in all attempts, and another one in each call", async () => {
		const { tenantry, requests } = answering(failing(1));
		await through(tenantry.organizations.create({ name: "North Ltd" }));
		await through(tenantry.organizations.create({ name: "North Ltd" }));
		const [first, second, third] = keysOf(requests);
		expect(first).toMatch(/^[\da-f-]{36}$/);
		expect(second).toBe(first);
		expect(third).toMatch(/^[\da-f-]{36}$/);
		expect(third).not.toBe(first);
	});

	test("whose outcome is unknown isn't sent again", async () => {
		const body = JSON.stringify({ type: "invalid_request", code: "outcome_unknown", detail: "" });
		const { tenantry, requests } = answering([{ status: 409, body }]);
		expect(await through(tenantry.projects.create({ name: "P" }))).toBe("rejected");
		expect(requests).toHaveLength(1);
	});

	test("is sent with no other method", async () => {
		const { tenantry, requests } = answering([]);
		const options = { idempotencyKey: "order-17" };
		await through(tenantry.health.get(options));
		await through(tenantry.projects.update({ id: 1 }, { name: "Website" }, options));
		await through(tenantry.projects.delete({ id: 1 }, options));
		expect(keysOf(requests)).toEqual([null, null, null]);
	});
});
