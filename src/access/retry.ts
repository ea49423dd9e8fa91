import { isFailed } from "../db/assertion.ts";
import { type ApiError, conflict } from "../http/errors.ts";

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
