// Not in TypeScript's library yet (https://github.com/tc39/proposal-json-parse-with-source).
declare global {
	interface JSON {
		rawJSON(text: string): { readonly rawJSON: string };
		isRawJSON(value: unknown): value is { readonly rawJSON: string };
	}
}

/** Finds numbers that a double may not preserve: long ones, exponents, trailing zeros and -0. */
const MAY_LOSE_DIGITS = /[\d.]{16}|\d[eE][+-]?\d|\.\d*0\b|-0\b/;

const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

const keepDigits = (_: string, value: unknown, { source }: { source?: string } = {}) =>
	typeof value === "number" && source !== undefined && String(value) !== source
		? JSON.rawJSON(source)
		: value;

/**
 * Like `JSON.parse`, but a number that would lose digits becomes a `JSON.rawJSON` object, which
 * `JSON.stringify` writes unchanged.
 */
export function parseExact(json: string): ReturnType<typeof JSON.parse> {
	const value = JSON.parse(json);
	// Matches are often in strings. Removing all strings is safe, because the text is valid JSON.
	if (!MAY_LOSE_DIGITS.test(json) || !MAY_LOSE_DIGITS.test(json.replace(STRINGS, '""')))
		return value;
	try {
		return JSON.parse(json, keepDigits);
	} catch (error) {
		// The JSON is nested too deeply for a reviver, which is recursive.
		if (error instanceof RangeError) return value;
		throw error;
	}
}
