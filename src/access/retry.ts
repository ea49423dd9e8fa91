import { isFailed } from "../db/assertion.ts";
import type { Connected } from "../db/client.ts";
import { type ApiError, conflict } from "../http/errors.ts";
import { type Answers, commit, type Write } from "./unit_of_work.ts";

/**
 * Repeats a read and a write if what the write depends on has changed between them
 * (`assertExists`).
 * @param retries how often; by default three times (docs/api.md#conflicts)
 * @throws `error` after the last retry, by default a 409
 */
export async function retry<T>(
	attempt: () => Promise<T>,
	{ retries = 3, error = conflict }: { retries?: number; error?: () => ApiError } = {},
): Promise<T> {
	try {
		return await attempt();
	} catch (failure) {
		if (!isFailed(failure, "is_current")) throw failure;
		if (retries === 0) throw error();
		return retry(attempt, { retries: retries - 1, error });
	}
}

/** Like `commit`, for workers: returns undefined, and writes nothing, if `is_current` failed. */
export const commitIfCurrent = <A extends Answers>(env: Env, db: Connected, write: Write<A>) =>
	commit(env, db, write).catch((error: unknown) => {
		if (!isFailed(error, "is_current")) throw error;
		return undefined;
	});
