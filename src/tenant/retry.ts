import { conflict } from "../http/errors.ts";

/** How often a write is retried after a conflict with another request (docs/api.md#conflicts). */
const MAX_RETRIES = 3;

/**
 * Retries a read and a write if another request changed the object between the two.
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
