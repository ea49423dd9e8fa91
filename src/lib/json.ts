/** Whether a text is the start of a JSON object, or empty. */
export const isCutObject = (text: string) =>
	/^\s*(?:\{|$)/.test(text) && jsonOf(text) === undefined;

/** Parses JSON; undefined if the text isn't JSON. */
export function jsonOf(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
