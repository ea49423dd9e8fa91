/** Numbers that keep all digits of integers of 64 bits. */
import { isJson, orderBetween, toNumber, toText, type Value } from "../../query/values.ts";

/** A number, or an integer that a number can't hold exactly. */
export type Numeric = number | bigint;

/** The smallest integer that doesn't fit into 64 bits. No double is one less or one more. */
const INT64_LIMIT = 2 ** 63;

/** Whether a number is an integer of at most 64 bits, in the form of `Numeric`. */
export const isInt64 = (number: Numeric) =>
	typeof number === "bigint" ? BigInt.asIntN(64, number) === number : Number.isSafeInteger(number);

const toNumeric = (integer: bigint): Numeric =>
	Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;

/** Returns the digits of a number before and after its decimal point. */
function digitsOf(decimal: string) {
	const [mantissa = "", exponent = "0"] = decimal.trim().toLowerCase().split("e");
	const [whole = "", fraction = ""] = mantissa.replace(/^[+-]/, "").split(".");
	const digits = whole + fraction;
	const point = Math.max(0, whole.length + Number(exponent));
	return {
		sign: mantissa.startsWith("-") ? "-" : "",
		whole: digits.slice(0, point).padEnd(point, "0"),
		fraction: digits.slice(point),
	};
}

/** Returns the text of a value that is a number. */
function decimalOf(value: Value) {
	if (typeof value !== "object" || value === null || "text" in value) return String(value);
	const exact = typeof value.value === "number" ? value.exact() : value.value;
	return JSON.isRawJSON(exact) ? exact.rawJSON : String(exact);
}

/** Returns the digits before the decimal point of a value that is a number. */
const wholeOf = (value: Value) => {
	const { sign, whole } = digitsOf(decimalOf(value));
	return BigInt(sign + whole);
};

/** Whether a double may differ from the integer that it was read from, which may have 64 bits. */
const mayLoseDigits = (number: number) =>
	Math.abs(number) > Number.MAX_SAFE_INTEGER && Math.abs(number) <= INT64_LIMIT;

/** Converts a value to a number. An integer of 64 bits keeps all digits. */
export function toExactNumber(value: Value): Numeric | null {
	if (typeof value === "bigint") return value;
	const number = toNumber(value);
	if (number === null || typeof value === "number" || !mayLoseDigits(number)) return number;
	const { sign, whole, fraction } = digitsOf(decimalOf(value));
	return /[1-9]/.test(fraction) ? number : toNumeric(BigInt(sign + whole));
}

/** Converts a value to an integer, without its fraction. An integer of 64 bits keeps all digits. */
export function toInteger(value: Value): Numeric | null {
	if (typeof value === "bigint") return value;
	const number = toNumber(value);
	if (number === null) return null;
	if (!mayLoseDigits(number)) return Math.trunc(number);
	if (typeof value === "number") return BigInt(value);
	return toNumeric(wholeOf(value));
}

const isNumeric = (value: Value) => {
	const inner = isJson(value) && "value" in value ? value.value : value;
	return typeof inner === "number" || typeof inner === "bigint";
};

/**
 * Compares numbers as numbers, with all digits of integers, and all other values as text; null if
 * one of them is null.
 */
export function orderOfJson(left: Value, right: Value) {
	if (!isNumeric(left) || !isNumeric(right)) return orderBetween(toText(left), toText(right));
	const [a, b] = [toNumber(left), toNumber(right)];
	const isRounded = a === b && Number.isFinite(a) && !Number.isSafeInteger(Math.trunc(a ?? 0));
	return isRounded ? orderBetween(wholeOf(left), wholeOf(right)) : orderBetween(a, b);
}

const INTEGER_OPERATIONS = {
	"+": (a: bigint, b: bigint) => a + b,
	"-": (a: bigint, b: bigint) => a - b,
	"*": (a: bigint, b: bigint) => a * b,
};

/** Computes with integers of 64 bits, or else returns `rounded`, the result of doubles. */
export function computeExactly(
	operator: keyof typeof INTEGER_OPERATIONS,
	a: Numeric,
	b: Numeric,
	rounded: number,
): Numeric {
	if (Number.isSafeInteger(rounded) && typeof a === "number" && typeof b === "number")
		return rounded;
	if (!isInt64(a) || !isInt64(b)) return rounded;
	const exact = toNumeric(INTEGER_OPERATIONS[operator](BigInt(a), BigInt(b)));
	return isInt64(exact) ? exact : rounded;
}
