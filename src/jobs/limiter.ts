/**
 * Every fifth task first yields to timers and requests, which a thousand calls to a local D1 would
 * otherwise block.
 */
const TASKS_PER_PAUSE = 5;

/** Returns a function that runs tasks, at most `limit` of them at a time. Others wait in order. */
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
			// Hand this task's place to the next one that waits.
			const next = waiting.shift();
			if (next) next();
			else running -= 1;
		}
	};
}
