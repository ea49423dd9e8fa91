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
