/**
 * Runs an action with a time limit. Unlike that of `AbortSignal.timeout`, the timer ends with the
 * action: an isolate can have 10,000 timers.
 * @param error what is thrown after `milliseconds`; also the reason of the action's signal
 */
export async function within<T>(
	milliseconds: number,
	error: Error,
	action: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
	const controller = new AbortController();
	const { promise: late, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(() => {
		reject(error);
		controller.abort(error);
	}, milliseconds);
	try {
		return await Promise.race([action(controller.signal), late]);
	} finally {
		clearTimeout(timer);
	}
}
