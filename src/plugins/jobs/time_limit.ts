/** The time limit of one run, starting now. */
export type TimeLimit = ReturnType<typeof timeLimit>;

/** Starts the time limit of a run. Call `end` when the run is over. */
export function timeLimit(milliseconds: number) {
	const deadline = Date.now() + milliseconds;
	const stopped = Promise.withResolvers<string>();
	let over = false;
	/** Stops the run from outside. */
	const stop = (reason: string) => {
		over = true;
		stopped.resolve(`The run was stopped: ${reason}`);
	};
	const stopAtDeadline = () => stop(`it took longer than ${milliseconds / 1000} s.`);
	const timer = setTimeout(stopAtDeadline, milliseconds);
	return {
		/** Resolves with an error if the run is stopped. */
		stopped: stopped.promise,
		stop,
		/** Whether the run is over. Every call checks this: timers don't fire while calls arrive. */
		isOver() {
			if (!over && Date.now() >= deadline) stopAtDeadline();
			return over;
		},
		end() {
			over = true;
			clearTimeout(timer);
		},
	};
}
