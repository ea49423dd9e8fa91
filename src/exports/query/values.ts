import { readMoment } from "../../lib/moment.ts";
import type { Row } from "./rows.ts";

/** JSON: a whole column, or the value at a path in it. `exact` keeps all digits of numbers. */
type Json = { text: string } | { value: unknown; exact: () => unknown };

/** The value of an expression. An integer is a bigint if a number would lose digits of it. */
export type Value = string | number | bigint | boolean | null | Json;

/** The values of a row, and its parsed JSON, with all digits of numbers in `exact`. */
export type Cells = { values: Row; parsed: unknown[]; exact: unknown[] };

export type Get<T extends Value = Value> = (cells: Cells) => T | null;

/** A decimal number, with optional white space around it. The pattern never backtracks. */
const NUMBER = /^[ \t-\r]*[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?[ \t-\r]*$/;

const DATE = /^(?:19|2[0-2])[0-9]{2}-([0-9]{2})-([0-9]{2})/;

export const finite = <T extends number | bigint>(number: T | null) =>
	typeof number === "number" && !Number.isFinite(number) ? null : number;

/** Formats a number like C's `%.15g`, so that 0.1 + 0.2 is 0.3. Integers have up to 16 digits. */
function numberToText(number: number) {
	if (!Number.isFinite(number)) return null;
	if (Number.isSafeInteger(number)) return String(number);
	const digits = Number.isInteger(number) ? 16 : 15;
	const [mantissa = "", exponent = ""] = number.toExponential(digits - 1).split("e");
	if (Number(exponent) >= -4 && Number(exponent) < digits)
		return withoutZeros(number.toFixed(digits - 1 - Number(exponent)));
	const [sign = "", ...rest] = exponent;
	return `${withoutZeros(mantissa)}e${sign}${rest.join("").padStart(2, "0")}`;
}

const withoutZeros = (decimal: string) =>
	decimal.includes(".") ? decimal.replace(/\.?(?<!0)0+$/, "") : decimal;

export const isJson = (value: Value): value is Json => typeof value === "object" && value !== null;

/** Returns JSON text; null if the value is nested too deeply. */
function stringify({ value, exact }: Exclude<Json, { text: string }>) {
	const isExact = typeof value === "string" || typeof value === "boolean";
	try {
		return JSON.stringify(isExact ? value : exact());
	} catch (error) {
		if (error instanceof RangeError) return null;
		throw error;
	}
}

export function toText(value: Value): string | null {
	if (typeof value === "number") return numberToText(value);
	if (typeof value === "boolean" || typeof value === "bigint") return String(value);
	if (!isJson(value)) return value;
	if ("text" in value) return value.text;
	return typeof value.value === "string" ? value.value : stringify(value);
}

const textToNumber = (text: string) => (NUMBER.test(text) ? Number(text) : null);

export function toNumber(value: Value): number | null {
	if (typeof value === "number" || typeof value === "bigint") return Number(value);
	if (typeof value === "string") return textToNumber(value);
	if (!isJson(value) || "text" in value) return null;
	if (typeof value.value === "string") return textToNumber(value.value);
	return typeof value.value === "number" ? value.value : null;
}

export function toJson(value: Value): string | null {
	if (typeof value === "string") return JSON.stringify(value);
	if (!isJson(value) || "text" in value) return toText(value);
	return stringify(value);
}

/** False for false, 0 and the empty text; null for null and numbers that are not finite. */
export function toBoolean(value: Value): boolean | null {
	if (typeof value === "number") return Number.isFinite(value) ? value !== 0 : null;
	if (typeof value === "string") return value !== "";
	if (typeof value === "bigint") return value !== 0n;
	if (!isJson(value)) return value;
	return "text" in value || ![false, "", 0].some((falsy) => falsy === value.value);
}

/** Returns the date at the beginning of a text, from 1900 to 2299; null if there is none. */
export function toDate(value: Value): string | null {
	if (typeof value === "number" || typeof value === "bigint") return null;
	const [date, month, day] = DATE.exec(toText(value) ?? "") ?? [];
	if (date === undefined) return null;
	if (Number(month) > 0 && Number(day) > 0 && Number(day) <= 28)
		return Number(month) <= 12 ? date : null;
	const at = new Date(`${date}T00:00Z`);
	// `Date` reads the 30th of February as a day in March.
	return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(date) ? date : null;
}

export const toMoment = (value: Value) => readMoment(toText(value) ?? "") ?? null;

export function valueAt(json: unknown, path: string[]): unknown {
	let value = json;
	for (const key of path) {
		if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
		value = Object.hasOwn(value, key) ? Reflect.get(value, key) : null;
	}
	return value;
}

/** Returns false for null and for a text that isn't JSON. No path has a value in it. */
export function parseJson(
	text: Row[number] | undefined,
	parse: (text: string) => unknown,
): unknown {
	try {
		return (typeof text === "string" && parse(text)) ?? false;
	} catch {
		return false;
	}
}

export const isNull = (value: Value) =>
	value === null || (typeof value === "number" && !Number.isFinite(value));

/** Compares numbers, or texts by code units; null if one of the values is null. */
export function orderBetween<T extends string | number | bigint>(a: T | null, b: T | null) {
	if (a === null || b === null) return null;
	return a < b ? -1 : a > b ? 1 : 0;
}

/** Counts characters (code points), not code units. */
export function lengthOf(text: string) {
	let length = 0;
	for (const _ of text) length += 1;
	return length;
}
