const MAX_CHARACTERS = 200;

/** Quotes a value that others sent in an error message, shortened and without control characters. */
export const quoted = (value: unknown) =>
	(JSON.stringify(value) ?? "nothing").slice(0, MAX_CHARACTERS).toWellFormed();
