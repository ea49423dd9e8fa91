/** A number and a noun, such as "1 row" or "2 rows". */
export const pluralize = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;

const MAX_CHARACTERS = 200;

/** Quotes a value that others sent in an error message, shortened and without control characters. */
export const quoted = (value: unknown) =>
	(JSON.stringify(value) ?? "nothing").slice(0, MAX_CHARACTERS).toWellFormed();

/** Returns a text with at most `max` UTF-16 code units, and an ellipsis if it was longer. */
export const shorten = (text: string, max: number) =>
	text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;

/** Returns the start of a text that has at most `max` bytes in UTF-8. */
export function cutBytes(text: string, max: number) {
	const bytes = new TextEncoder().encode(text);
	if (bytes.length <= max) return text;
	// A character that was cut is left out.
	return new TextDecoder().decode(bytes.subarray(0, Math.max(0, max)), { stream: true });
}
