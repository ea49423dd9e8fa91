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
