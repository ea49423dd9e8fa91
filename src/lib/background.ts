/*
 * Runs background work, such as a scheduled tick, in named parts. If a part fails, the failure is
 * logged with the name, and the other parts still run. The next tick repeats the work of the failed
 * part (docs/operating/README.md#the-schedule).
 */
import { logError } from "./log.ts";

/** Waits for a part, and logs its error if it fails. */
export const logErrors = (part: string, work: Promise<unknown>) =>
	work.catch((error: unknown) => logError(part, error));

/** Calls `work` for the items of a part, one after another. Logs errors. */
export async function forEachLogged<T>(
	part: string,
	items: Iterable<T>,
	work: (item: T) => Promise<unknown>,
) {
	for (const item of items) await logErrors(part, work(item));
}

/** Runs parts one after another, by name. Logs errors. */
export async function runSequentially(parts: Record<string, () => Promise<unknown>>) {
	for (const [part, run] of Object.entries(parts)) await logErrors(part, run());
}
