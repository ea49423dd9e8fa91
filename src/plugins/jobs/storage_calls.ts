import { jsonOf } from "../../lib/json.ts";
import { logWarning } from "../../lib/log.ts";
import type { TimeLimit } from "./time_limit.ts";

/** Each call is a round trip to D1. Workers allow 1,000 of them, and running the job needs some. */
const MAX_CALLS = 900;
/** Calls beyond `MAX_CALLS` are rejected. After this many rejected calls, the run is stopped. */
const MAX_REJECTED_CALLS = 4100;
const MAX_CONCURRENT_CALLS = 50;
const MAX_KEY_LENGTH = 200;
/** The maximum length of the JSON in characters. */
const MAX_VALUE_LENGTH = 64 * 1024;

export type Storage = {
	/** Returns the value as JSON; null if there is none. */
	get(key: string): Promise<string | null>;
	/** Returns false if the storage is full. */
	set(key: string, json: string): Promise<boolean>;
	del(key: string): Promise<void>;
};

/**
 * The result of a storage call. The guest throws `rejection` as an error. If the host threw it, the
 * runtime would report each as an uncaught exception, and thousands of reports would keep a local
 * server busy for minutes.
 */
type Result = { value?: string | null; rejection?: string };

/** Returns the storage functions for the isolate, with any arguments, within limits. */
export function storageCalls(storage: Storage, limit: TimeLimit) {
	const limited = limiter(MAX_CONCURRENT_CALLS);
	let calls = 0;
	const call = async (key: unknown, work: (key: string) => Promise<Result>): Promise<Result> => {
		calls += 1;
		if (calls > MAX_CALLS + MAX_REJECTED_CALLS)
			limit.stop(`it called the storage more than ${calls - 1} times.`);
		if (limit.isOver()) return never();
		if (calls > MAX_CALLS)
			return { rejection: `A run may call the storage at most ${MAX_CALLS} times.` };
		if (typeof key !== "string" || key === "" || key.length > MAX_KEY_LENGTH)
			return { rejection: `A key must be a string of 1 to ${MAX_KEY_LENGTH} characters.` };
		return limited(async () => (limit.isOver() ? never() : work(key).catch(failed)));
	};
	return {
		get: (key: unknown) => call(key, async (key) => ({ value: await storage.get(key) })),
		set: (key: unknown, json: unknown) =>
			call(key, async (key) => {
				if (!isJson(json))
					return { rejection: `A value must be JSON of at most ${MAX_VALUE_LENGTH} characters.` };
				return (await storage.set(key, json))
					? {}
					: { rejection: "The storage is full: it can hold 1,000 keys and 1 MiB." };
			}),
		del: (key: unknown) =>
			call(key, async (key) => {
				await storage.del(key);
				return {};
			}),
	};
}

/** Never responds: after the end of a run, a response would let a loop of calls continue. */
const never = () => new Promise<never>(() => {});

function failed(error: unknown): Result {
	logWarning("A plugin could not use its storage", error);
	return { rejection: "The storage failed." };
}

const isJson = (json: unknown): json is string =>
	typeof json === "string" && json.length <= MAX_VALUE_LENGTH && jsonOf(json) !== undefined;

/** Every fifth task yields to timers and requests, which a thousand calls would block. */
const TASKS_PER_PAUSE = 5;

/** Returns a function that runs at most `limit` tasks at a time, in order. */
export function limiter(limit: number) {
	const waiting: (() => void)[] = [];
	let running = 0;
	let started = 0;
	return async <T>(task: () => Promise<T>): Promise<T> => {
		if (running < limit) running += 1;
		else await new Promise<void>((start) => waiting.push(start));
		try {
			started += 1;
			if (started % TASKS_PER_PAUSE === 0) await scheduler.wait(0);
			return await task();
		} finally {
			// The next waiting task takes this task's place.
			const next = waiting.shift();
			if (next) next();
			else running -= 1;
		}
	};
}
