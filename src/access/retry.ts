import { conflict } from "../http/errors.ts";

/** The maximum number of retries after conflicts with other requests (docs/api.md#conflicts). */
const MAX_RETRIES = 3;

/**
 * Repeats a read and a write if another request changed the object between them.
 * @param attempt returns undefined if that happened
 * @throws 409 after the last retry
 */
export async function retry<T>(attempt: () => Promise<T | undefined>): Promise<T> {
	for (let retries = 0; retries <= MAX_RETRIES; retries++) {
		const answer = await attempt();
		if (answer !== undefined) return answer;
	}
	throw conflict();
}
