/*
 * Logs errors as JSON: `{ warning, error }` if the code continues, `{ request_id, error }` if a
 * request fails, and `{ part, error }` if background work fails.
 */

/** Logs an error after which the code continues, with ids such as `{ webhook: id }`. */
export const logWarning = (
	warning: string,
	error: unknown,
	about: Record<string, string | number> = {},
) => console.error(JSON.stringify({ ...about, warning, error: String(error) }));

/** Logs an error that fails a request, with the stack if there is one. */
export function logRequestError(request_id: string, error: unknown) {
	const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
	console.error(JSON.stringify({ request_id, error: text }));
}

/** Logs why a named part of the background work failed. */
export const logError = (part: string, error: unknown) =>
	console.error(JSON.stringify({ part, error: String(error) }));
