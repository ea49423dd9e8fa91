/** A decimal number: `digits`, which neither begin nor end with 0, times ten to the `power`. */
export type Decimal = { sign: "" | "-"; digits: string; power: number };

/** Larger exponents are no numbers of any use, and writing them out would take too much memory. */
const NUMBER =
	/^[ \t-\r]*([+-]?)(?:([0-9]+)(?:[.]([0-9]*))?|[.]([0-9]+))(?:[eE]([+-]?[0-9]{1,7}))?[ \t-\r]*$/;

/** Reads a decimal number; undefined if the text isn't one. `digits` is empty for 0. */
export function readDecimal(text: string): Decimal | undefined {
	const [match, sign, whole = "", after, bare = "", exponent = "0"] = NUMBER.exec(text) ?? [];
	if (match === undefined) return undefined;
	const fraction = after ?? bare;
	const all = (whole + fraction).replace(/^0+/, "");
	const digits = all.replace(/(?<!0)0+$/, "");
	const power = Number(exponent) - fraction.length + all.length - digits.length;
	return { sign: sign === "-" ? "-" : "", digits, power: digits === "" ? 0 : power };
}

/** Writes a decimal number without an exponent. */
export function plainDecimal({ sign, digits, power }: Decimal): string {
	if (digits === "") return "0";
	const point = digits.length + power;
	if (power >= 0) return `${sign}${digits}${"0".repeat(power)}`;
	if (point > 0) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
	return `${sign}0.${"0".repeat(-point)}${digits}`;
}

/** Whether both are numbers, and equal, digit by digit. */
export const isSameDecimal = (a: Decimal | undefined, b: Decimal | undefined) =>
	a !== undefined &&
	a.digits === b?.digits &&
	a.power === b.power &&
	(a.digits === "" || a.sign === b.sign);

// Not in TypeScript's library yet (https://github.com/tc39/proposal-json-parse-with-source).
declare global {
	interface JSON {
		rawJSON(text: string): { readonly rawJSON: string };
		isRawJSON(value: unknown): value is { readonly rawJSON: string };
	}
}

/** Finds numbers that a double may not preserve: long ones, exponents, trailing zeros and -0. */
const MAY_LOSE_DIGITS = /[\d.]{16}|\d[eE][+-]?\d|\.\d*0\b|-0\b/;

/** The last quotation mark is optional, so that the pattern never backtracks. */
const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"?/g;

/** Returns JSON text with empty strings: only numbers still have digits. */
export const withoutStrings = (json: string) => json.replace(STRINGS, '""');

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

/** A reviver that replaces each number by what `read` makes of its text. */
const ofNumbers =
	(read: (source: string, value: number) => unknown): Reviver =>
	(_, value, { source } = {}) =>
		typeof value === "number" && source !== undefined ? read(source, value) : value;

const keepDigits = ofNumbers((source, value) =>
	String(value) === source ? value : JSON.rawJSON(source),
);

/** Longer numbers are rejected. */
export const MAX_NUMBER_LENGTH = 400;

const isRounded = (source: string, value: number) =>
	source.length > MAX_NUMBER_LENGTH ||
	!isSameDecimal(readDecimal(source), readDecimal(String(value)));

/** Infinite, or NaN for small numbers: JSON has neither, and no schema accepts them. */
const unacceptable = (value: number) =>
	Math.abs(value) < Number.MAX_SAFE_INTEGER ? Number.NaN : value * Number.POSITIVE_INFINITY;

const rejectRounded = ofNumbers((source, value) =>
	isRounded(source, value) ? unacceptable(value) : value,
);

/** Parses JSON, with a reviver only if a number may lose digits, because that is slower. */
function parseWith(revive: Reviver, json: string): ReturnType<typeof JSON.parse> {
	const value = JSON.parse(json);
	// Matches are often in strings. Removing all strings is safe, because the text is valid JSON.
	const mayLoseDigits = MAY_LOSE_DIGITS.test(json) && MAY_LOSE_DIGITS.test(withoutStrings(json));
	return mayLoseDigits ? JSON.parse(json, revive) : value;
}

/** Like `JSON.parse`, but a number that would lose digits becomes a `JSON.rawJSON` object. */
export function parseExact(json: string): ReturnType<typeof JSON.parse> {
	try {
		return parseWith(keepDigits, json);
	} catch (error) {
		// The JSON is nested too deeply for a reviver, which is recursive.
		if (error instanceof RangeError) return JSON.parse(json);
		throw error;
	}
}

/**
 * Like `JSON.parse`, but a number that would be rounded becomes infinite or NaN, which no schema
 * accepts.
 * @throws SyntaxError
 */
export function parseUnrounded(json: string): ReturnType<typeof JSON.parse> {
	try {
		return parseWith(rejectRounded, json);
	} catch (error) {
		if (error instanceof RangeError) throw new SyntaxError("The JSON is nested too deeply.");
		throw error;
	}
}
