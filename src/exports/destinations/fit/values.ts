/**
 * The limits of columns of databases (docs/exports.md#values-that-dont-fit). Each function
 * returns the `Fit` of a kind of column; a database's `fits.ts` chooses it by the column's type.
 */
// Imported because the global `Buffer` is slow to access in workerd.
import { Buffer } from "node:buffer";
import { jsonOf } from "../../../lib/json.ts";
import { isSameDecimal, plainDecimal, readDecimal } from "../../../lib/lossless_json.ts";
import { readMoment } from "../../../lib/moment.ts";
import type { Kind } from "../../query/expression.ts";
import type { Row } from "../../query/rows.ts";
import { lengthOf } from "../../query/values.ts";

export type Value = Exclude<Row[number], null>;

/**
 * Returns a value as it is written, or undefined if the column can't hold it.
 * @param lose is called for each value within JSON that becomes null
 */
export type Fit = (value: Value, lose: () => void) => Value | undefined;

/** Longer integers fit no column. The largest type has 256 bits. */
const MAX_INTEGER_DIGITS = 78;

function integerOf(value: Value): bigint | undefined {
	if (typeof value === "bigint" || typeof value === "boolean") return BigInt(value);
	const { sign, digits, power } = readDecimal(String(value)) ?? { sign: "", digits: "", power: -1 };
	if (power < 0 || digits.length + power > MAX_INTEGER_DIGITS) return undefined;
	return BigInt(`${sign}${digits || 0}${"0".repeat(power)}`);
}

export function integers(min: bigint, max: bigint): Fit {
	const [low, high] = [Number(min), Number(max)];
	return (value) => {
		if (Number.isSafeInteger(value))
			return Number(value) >= low && Number(value) <= high ? value : undefined;
		const integer = integerOf(value);
		return integer !== undefined && integer >= min && integer <= max ? integer : undefined;
	};
}

export const signed = (bits: number) =>
	integers(-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n);

export const unsigned = (bits: number) => integers(0n, 2n ** BigInt(bits) - 1n);

/**
 * Decimal numbers with all their digits.
 * @param precision the number of digits
 * @param scale how many of them are after the decimal point
 */
export function decimals(precision: number, scale: number): Fit {
	return (value) => {
		const decimal = typeof value === "boolean" ? undefined : readDecimal(String(value));
		if (decimal === undefined || -decimal.power > scale) return undefined;
		const whole = decimal.digits.length + decimal.power;
		return decimal.digits === "" || whole <= precision - scale ? plainDecimal(decimal) : undefined;
	};
}

/** More digits of a number can't be compared: it is the maximum of `toPrecision`. */
const MAX_FLOAT_DIGITS = 100;

/** Binary numbers. Those fit that have the same digits when they are read. */
export function floats(round: (number: number) => number): Fit {
	return (value) => {
		if (typeof value === "number" && round(value) === value) return value;
		if (typeof value === "boolean") return Number(value);
		const decimal = readDecimal(String(value));
		const digits = decimal?.digits.length ?? Number.POSITIVE_INFINITY;
		if (digits > MAX_FLOAT_DIGITS) return undefined;
		const number = Number(value);
		const kept = round(number);
		const isKept = digits === 0 || isSameDecimal(decimal, readDecimal(kept.toPrecision(digits)));
		return isKept ? number : undefined;
	};
}

export const DOUBLE = (number: number) => number;

export const SINGLE = Math.fround;

const TRUE = ["true", "t", "yes", "y", "on", "1"];
const FALSE = ["false", "f", "no", "n", "off", "0"];

export const booleans: Fit = (value) => {
	if (typeof value === "boolean") return value;
	const text = String(value).toLowerCase();
	return TRUE.includes(text) || (FALSE.includes(text) ? false : undefined);
};

/** Digits of a second after the milliseconds. */
const MORE_DIGITS = /\.\d{3}(\d+)/;

/** Returns a time in UTC with all digits that were sent; undefined if it isn't ISO 8601. */
function timeOf(value: Value): string | undefined {
	const text = String(value);
	const time = readMoment(text);
	const [, more] = MORE_DIGITS.exec(text) ?? [];
	return time !== undefined && more ? `${time.slice(0, -1)}${more}Z` : time;
}

/** The beginnings of the first time, and of the first one that is too late, in ISO 8601. */
export type Range = { from: string; before: string };

/** The years that events can have. */
export const ALL_YEARS: Range = { from: "0001", before: "9999-12-31T24" };

/** The length of a time without its fraction. */
const TO_SECONDS = 19;

/**
 * Times in a range, in the column's unit: further digits of a second are cut off, never rounded, so
 * that no time moves to another second.
 * @param digits how many digits of a second the column has
 */
export function times(kind: Kind, { from, before }: Range, digits: number): Fit {
	const read = kind === "timestamp" ? String : timeOf;
	const length = digits === 0 ? TO_SECONDS : TO_SECONDS + 1 + digits;
	return (value) => {
		const time = read(value);
		if (time === undefined || time < from || time >= before) return undefined;
		return time.length <= length + 1 ? time : `${time.slice(0, length)}Z`;
	};
}

/** The days of times, in UTC. */
export function days(kind: Kind, range: Range): Fit {
	const fit = times(kind, range, 0);
	return (value, lose) => {
		const time = fit(value, lose);
		return time === undefined ? undefined : String(time).slice(0, "YYYY-MM-DD".length);
	};
}

export const byteLength = (text: string) => Buffer.byteLength(text);

export const characters = (text: string) => lengthOf(text);

/** Texts up to a size. */
export const texts =
	(max: number, sizeOf: (text: string) => number): Fit =>
	(value) => {
		const text = String(value);
		return sizeOf(text) <= max ? text : undefined;
	};

/** Texts that match a pattern. */
export const matching =
	(pattern: RegExp): Fit =>
	(value) =>
		typeof value === "string" && pattern.test(value) ? value : undefined;

/** Some texts and numbers. */
export function labels(allowed: Iterable<string | number>): Fit {
	const set = new Set<Value>(allowed);
	return (value) => (set.has(value) ? value : undefined);
}

/** Returns the number, the text or the boolean in JSON. A number with many digits is a text. */
function scalarOf(json: Value): Value | undefined {
	if (typeof json !== "string") return json;
	const value = jsonOf(json);
	if (typeof value === "string" || typeof value === "boolean") return value;
	if (typeof value !== "number") return undefined;
	return Number.isSafeInteger(value) && String(value) === json ? value : json.trim();
}

/** The fit of a column that doesn't hold JSON. The value at a property's path is JSON. */
export const ofKind = (kind: Kind, fit: Fit): Fit =>
	kind === "json"
		? (json, lose) => {
				const value = scalarOf(json);
				return value === undefined ? undefined : fit(value, lose);
			}
		: fit;
