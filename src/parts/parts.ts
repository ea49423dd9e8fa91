/*
 * The parts of work that no request waits for, such as a tick of the schedule. A part that fails is logged by its name, and
 * stops no other: what it leaves is due at the next tick (docs/operating.md#the-schedule).
 */

/** Logs why a part failed. */
export const logError = (part: string, error: unknown) =>
	console.error(JSON.stringify({ part, error: String(error) }));

/** Waits for a part that may fail. */
export const logged = (part: string, work: Promise<unknown>) =>
	work.catch((error: unknown) => logError(part, error));

/** Calls `work` for one item of a part after another. */
export async function forEach<T>(
	part: string,
	items: Iterable<T>,
	work: (item: T) => Promise<unknown>,
) {
	for (const item of items) await logged(part, work(item));
}

/** Runs one part after another, by their names. */
export async function inTurn(parts: Record<string, () => Promise<unknown>>) {
	for (const [part, run] of Object.entries(parts)) await logged(part, run());
}
