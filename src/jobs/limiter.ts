/** So often a task lets timers and requests have their turn first: a thousand calls to a local D1 leave them none. */
const CALLS_PER_PAUSE = 5;

/** Runs at most `limit` tasks at a time; further ones wait in line. */
export function limiter(limit: number) {
	const waiting: (() => void)[] = [];
	let running = 0;
	let started = 0;
	return async <T>(task: () => Promise<T>): Promise<T> => {
		if (running < limit) running += 1;
		else await new Promise<void>((start) => waiting.push(start));
		try {
			started += 1;
			if (started % CALLS_PER_PAUSE === 0) await scheduler.wait(0);
			return await task();
		} finally {
			// The place of a task that ended passes to the next in line.
			const next = waiting.shift();
			if (next) next();
			else running -= 1;
		}
	};
}
