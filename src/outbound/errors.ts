import { DrizzleQueryError } from "drizzle-orm";

/** An error that the user has to fix. It isn't retried, and contains no secrets. */
export class MisconfiguredError extends Error {}

/** A temporary error. `retry_after`: the seconds that the server asks to wait. */
export class UnavailableError extends Error {
	readonly retry_after: number | undefined;

	constructor(message: string, retry_after?: number) {
		super(message);
		this.retry_after = retry_after;
	}
}

/**
 * Stops the attempt, because the run was cancelled or another attempt has taken over. Only this
 * attempt knows what it has started since its last stored state, so it has to remove that.
 */
export class SupersededError extends Error {}

const MAX_ERROR_LENGTH = 2000;

/** Returns the message of an error, without the SQL and the values of a statement. */
const messageOf = (error: unknown): string => {
	if (error instanceof DrizzleQueryError) return messageOf(error.cause);
	return error instanceof Error ? error.message || error.name : String(error);
};

export const reason = (error: unknown) => messageOf(error).slice(0, MAX_ERROR_LENGTH);

/** Adds a full stop to a text that doesn't end with punctuation. */
export const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);
