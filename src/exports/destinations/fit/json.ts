import { jsonOf } from "../../../lib/json.ts";
import { withoutStrings } from "../../../lib/lossless_json.ts";
import { DOUBLE, type Fit, floats } from "./values.ts";

/** A string, a number or a bracket. The last quote is optional so that it never backtracks. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d[\d.eE+-]*|[[\]{}]/g;

const NUMBER = /^[-\d]/;

/** Numbers that neither a double nor an integer of 64 bits may hold. Strings match, too. */
const MAY_LOSE_DIGITS = /[\d.]{16}|\d[eE]/;

const INTEGER = /^-?\d+$/;

/**
 * Whether a text is JSON that has a number like this outside its strings. Text that isn't JSON is
 * stored as a string.
 */
const hasNumber = (text: string, pattern: RegExp) =>
	pattern.test(text) && pattern.test(withoutStrings(text)) && jsonOf(text) !== undefined;

/** An object, or an array with the arrays in it, whose numbers may get one type. */
type Container = { isArray: boolean; hasFraction: boolean };

/** Replaces the numbers in JSON text. Everything else stays as it is. */
function replaceNumbers(json: string, replace: (number: string, inside: Container) => string) {
	const outside: Container = { isArray: false, hasFraction: false };
	const open = [outside];
	let inside = outside;
	return json.replace(TOKEN, (token) => {
		if (NUMBER.test(token)) return replace(token, inside);
		if (token === "[" || token === "{") {
			const isArray = token === "[";
			if (!isArray || !inside.isArray) inside = { isArray, hasFraction: false };
			open.push(inside);
		} else if (token === "]" || token === "}") {
			open.pop();
			inside = open.at(-1) ?? outside;
		}
		return token;
	});
}

/**
 * Returns the fit of columns with a native type for JSON, which store a number as a double or an
 * integer of 64 bits, and the numbers of an array as doubles if one has a fraction. Integers that
 * would lose digits become strings, because they are usually IDs. Other numbers become null.
 */
export function documents(): Fit {
	const isDouble = floats(DOUBLE);
	return (json, lose) => {
		if (typeof json !== "string" || !hasNumber(json, MAY_LOSE_DIGITS)) return json;
		const arrays: Container[] = [];
		replaceNumbers(json, (token, inside) => {
			arrays.push(inside);
			if (!INTEGER.test(token)) inside.hasFraction = true;
			return token;
		});
		let at = 0;
		return replaceNumbers(json, (token) => {
			const { isArray, hasFraction } = arrays[at++] ?? { isArray: false, hasFraction: false };
			if (INTEGER.test(token)) {
				const integer = BigInt(token);
				const isKept =
					isArray && hasFraction
						? Number.isSafeInteger(Number(token))
						: integer >= -(2n ** 63n) && integer < 2n ** 64n;
				return isKept ? token : `"${token}"`;
			}
			if (isDouble(token, lose) !== undefined) return token;
			lose();
			return "null";
		});
	};
}

/** An exponent that PostgreSQL may not store. Strings match, too. */
const HUGE = /\d[eE][+-]?\d{5}/;

/** The fit of columns with a type for JSON that keeps all digits of numbers. */
export const decimalDocuments: Fit = (json, lose) => {
	if (typeof json !== "string" || !hasNumber(json, HUGE)) return json;
	return replaceNumbers(json, (token) => {
		if (!HUGE.test(token)) return token;
		lose();
		return "null";
	});
};
