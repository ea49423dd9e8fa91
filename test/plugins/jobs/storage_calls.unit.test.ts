import { scheduler } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { storageCalls } from "../../../src/plugins/jobs/storage_calls.ts";
import { timeLimit } from "../../../src/plugins/jobs/time_limit.ts";

vi.stubGlobal("scheduler", scheduler);

let limit: ReturnType<typeof timeLimit>;
afterEach(() => limit.end());

/** The functions of a run with a time limit, and how many of their calls are in progress. */
function calls(work: () => Promise<unknown> = async () => {}, isFull = false) {
	const count = { started: 0, inProgress: 0, max: 0 };
	const call = async () => {
		count.started += 1;
		count.inProgress += 1;
		count.max = Math.max(count.max, count.inProgress);
		await work();
		count.inProgress -= 1;
	};
	limit = timeLimit(10_000);
	const storage = {
		get: () => call().then(() => null),
		set: () => call().then(() => !isFull),
		del: call,
	};
	return { count, ...storageCalls(storage, limit) };
}

const times = <T>(n: number, make: (i: number) => T) =>
	Array.from({ length: n }, (_, i) => make(i));

test("calls wait while 50 others are in progress", async () => {
	const full = Promise.withResolvers<void>();
	const { count, get } = calls(async () => {
		if (count.inProgress === 50) setTimeout(full.resolve, 20);
		await full.promise;
	});
	await Promise.all(times(800, (i) => get(`k${i}`)));
	expect(count).toEqual({ started: 800, inProgress: 0, max: 50 });
});

test("calls don't keep timers from firing", async () => {
	const { get } = calls();
	const fired = vi.fn();
	setTimeout(fired);
	await Promise.all(times(800, () => get("k")));
	expect(fired).toHaveBeenCalled();
});

test("no call starts after the end of the run", async () => {
	const full = Promise.withResolvers<void>();
	const released = Promise.withResolvers<void>();
	const { count, get } = calls(() => {
		if (count.inProgress === 50) full.resolve();
		return released.promise;
	});
	for (const i of times(3000, (i) => i)) get(`k${i}`);
	await full.promise;
	limit.stop("it is over.");
	released.resolve();
	await scheduler.wait(20);
	expect(count).toMatchObject({ started: 50, inProgress: 0 });
});

test("calls check the time limit themselves, since a timer may not fire while they keep arriving", async () => {
	vi.useFakeTimers({ toFake: ["Date"] });
	const { count, get } = calls(async () => vi.setSystemTime(Date.now() + 1000));
	let result: unknown;
	while (typeof result !== "string") result = await Promise.race([get("k"), limit.stopped]);
	vi.useRealTimers();
	expect(result).toBe("The run was stopped: it took longer than 10 s.");
	expect(count.started).toBe(10);
});

const WRONG_KEY = { rejection: "A key must be a string of 1 to 200 characters." };
const WRONG_VALUE = { rejection: "A value must be JSON of at most 65536 characters." };

test("keys and values have limits", async () => {
	const { get, set, del, count } = calls();
	for (const key of ["", "x".repeat(201), {}, undefined])
		for (const call of [get, del, (key: unknown) => set(key, "1")])
			expect(await call(key)).toEqual(WRONG_KEY);
	for (const json of ["no JSON", undefined, JSON.stringify("x".repeat(65_535))])
		expect(await set("k", json)).toEqual(WRONG_VALUE);
	expect(count.started).toBe(0);
	expect(await set("x".repeat(200), JSON.stringify("x".repeat(65_534)))).toEqual({});
	expect(await get("k")).toEqual({ value: null });
	expect(await del("k")).toEqual({});
});

test("a full or failing storage is told, without the reason", async () => {
	const full = { rejection: "The storage is full: it can hold 1,000 keys and 1 MiB." };
	expect(await calls(undefined, true).set("k", "1")).toEqual(full);
	const log = vi.spyOn(console, "error").mockImplementation(() => {});
	const { get, set, del } = calls(() => Promise.reject(new Error("D1 at 10.0.0.1 is down")));
	for (const call of [get, del, (key: unknown) => set(key, "1")])
		expect(await call("k")).toEqual({ rejection: "The storage failed." });
	log.mockRestore();
});

test.each([
	["too many", "k", "1", 900],
	["without a key", "", "1", 0],
	["with too large a value", "k", "x".repeat(65_537), 0],
])("calls that continue after being rejected (%s) stop the run", async (_, key, json, started) => {
	const { set, count } = calls();
	for (let i = 0; i < 900; i++) await set(key, json);
	const many = { rejection: "A run may call the storage at most 900 times." };
	for (let i = 900; i < 5000; i++) expect(await set(key, json)).toEqual(many);
	set(key, json);
	expect(await limit.stopped).toBe(
		"The run was stopped: it called the storage more than 5000 times.",
	);
	expect(count.started).toBe(started);
});
