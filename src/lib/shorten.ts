/** Returns a text with at most `max` UTF-16 code units, and an ellipsis if it was longer. */
export const shorten = (text: string, max: number) =>
	text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;
