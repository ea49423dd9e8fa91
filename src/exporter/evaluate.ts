import { parseExact } from "../http/exact.ts";
import { readMoment } from "../http/fields.ts";
import { like } from "./like.ts";
import {
	comparedAs,
	type Expression,
	type Field,
	isLiteral,
	kindOf,
	partsOf,
} from "./query/query.ts";
import type { Kind, Row } from "./rows.ts";

/** JSON: the text of a whole column, or the value at a path in it. `exact` returns that value with all digits of numbers. */
type Json = { text: string } | { value: unknown; exact: () => unknown };

/** The value of an expression for a row. JSON is always a `Json`, never a bare string or number. */
type Value = string | number | boolean | null | Json;

/** The values of a row, and caches of their parsed JSON: parsed fast, and with all digits of numbers. */
type Cells = { values: Row; parsed: unknown[]; exact: unknown[] };

type Get<T extends Value = Value> = (cells: Cells) => T | null;

/** The names of all columns that these expressions read. */
export function columnsOf(expressions: Expression[]): string[] {
	const read = (expression: Expression): string[] => {
		if (expression.type === "column") return [expression.name];
		if (expression.type === "property") return [expression.column];
		return partsOf(expression).flatMap(read);
	};
	return [...new Set(expressions.flatMap(read))];
}

/** A decimal number, with optional white space around it. The pattern never backtracks. */
const NUMBER = /^[ \t-\r]*[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?[ \t-\r]*$/;

const DATE = /^(?:19|2[0-2])[0-9]{2}-([0-9]{2})-([0-9]{2})/;

const finite = (number: number | null) =>
	number !== null && Number.isFinite(number) ? number : null;

/** Formats as C's `%.15g`, so that 0.1 + 0.2 is 0.3. Integers have 16 digits, and -0 has no sign. */
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
	decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;

const isJson = (value: Value): value is Json => typeof value === "object" && value !== null;

/** Null if the value is nested too deeply. */
function stringify({ value, exact }: Exclude<Json, { text: string }>) {
	const isExact = typeof value === "string" || typeof value === "boolean";
	try {
		return JSON.stringify(isExact ? value : exact());
	} catch (error) {
		if (error instanceof RangeError) return null;
		throw error;
	}
}

function toText(value: Value): string | null {
	if (typeof value === "number") return numberToText(value);
	if (typeof value === "boolean") return String(value);
	if (!isJson(value)) return value;
	if ("text" in value) return value.text;
	return typeof value.value === "string" ? value.value : stringify(value);
}

const textToNumber = (text: string) => (NUMBER.test(text) ? Number(text) : null);

function toNumber(value: Value): number | null {
	if (typeof value === "number") return value;
	if (typeof value === "string") return textToNumber(value);
	if (!isJson(value) || "text" in value) return null;
	if (typeof value.value === "string") return textToNumber(value.value);
	return typeof value.value === "number" ? value.value : null;
}

function toJson(value: Value): string | null {
	if (typeof value === "string") return JSON.stringify(value);
	if (!isJson(value) || "text" in value) return toText(value);
	return stringify(value);
}

/** False for false, 0 and the empty text; null if there is no value. */
function toBoolean(value: Value): boolean | null {
	if (typeof value === "number") return Number.isFinite(value) ? value !== 0 : null;
	if (typeof value === "string") return value !== "";
	if (!isJson(value)) return value;
	return "text" in value || ![false, "", 0].some((falsy) => falsy === value.value);
}

/** The date that a text begins with, from 1900 to 2299. */
function toDate(value: Value): string | null {
	if (typeof value === "number") return null;
	const [date, month, day] = DATE.exec(toText(value) ?? "") ?? [];
	if (date === undefined) return null;
	if (Number(month) > 0 && Number(day) > 0 && Number(day) <= 28)
		return Number(month) <= 12 ? date : null;
	const at = new Date(`${date}T00:00Z`);
	// `Date` reads the 30th of February as a day in March.
	return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(date) ? date : null;
}

const toMoment = (value: Value) => readMoment(toText(value) ?? "") ?? null;

/** The value at a path; null if there is none. */
function valueAt(json: unknown, path: string[]): unknown {
	let value = json;
	for (const key of path) {
		if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
		value = Object.hasOwn(value, key) ? Reflect.get(value, key) : null;
	}
	return value;
}

/** False for a text that isn't JSON, and for null: no path leads to a value in it. */
function parseJson(text: Row[number] | undefined, parse: (text: string) => unknown): unknown {
	try {
		return (typeof text === "string" && parse(text)) ?? false;
	} catch {
		return false;
	}
}

/** Compiles expressions to functions of rows with these columns. Null is "unknown" in SQL's three-valued logic. */
function compiler(columns: string[]) {
	function compile(expression: Expression): Get {
		switch (expression.type) {
			case "column": {
				const at = columns.indexOf(expression.name);
				return kindOf(expression) === "json"
					? ({ values }) => {
							const text = values[at];
							return typeof text === "string" ? { text } : null;
						}
					: ({ values }) => values[at] ?? null;
			}
			case "property": {
				const at = columns.indexOf(expression.column);
				const { path } = expression;
				return ({ values, parsed, exact }) => {
					parsed[at] ??= parseJson(values[at], JSON.parse);
					const value = valueAt(parsed[at], path);
					if (value === null) return null;
					return {
						value,
						exact() {
							exact[at] ??= parseJson(values[at], parseExact);
							return valueAt(exact[at], path);
						},
					};
				};
			}
			case "literal":
				return () => expression.value;
			case "operation":
				return operation(expression);
			case "comparison":
				return comparison(expression);
			case "predicate":
				return predicate(expression);
			case "call":
				return call(expression);
		}
	}

	const compileAs = <T extends Value>(
		expression: Expression,
		to: (value: Value) => T | null,
	): Get<T> => {
		const get = compile(expression);
		return (cells) => to(get(cells));
	};

	function operation({
		operator,
		...sides
	}: Extract<Expression, { type: "operation" }>): Get<number> {
		const left = compileAs(sides.left, toNumber);
		const right = compileAs(sides.right, toNumber);
		const compute = OPERATIONS[operator];
		return (cells) => {
			const [a, b] = [left(cells), right(cells)];
			const result = a === null || b === null ? NaN : compute(a, b);
			return Number.isNaN(result) ? null : result;
		};
	}

	function comparison({
		operator,
		left,
		right,
	}: Extract<Expression, { type: "comparison" }>): Get<boolean> {
		const compare = ordered(left, right);
		const decide = COMPARISONS[operator];
		return (cells) => {
			const order = compare(cells);
			return order === null ? null : decide(order);
		};
	}

	/** Returns a negative number, 0 or a positive number, as a sort function does. */
	function ordered(left: Expression, right: Expression): Get<number> {
		switch (comparedAs(kindOf(left), kindOf(right))) {
			case "number": {
				const number = (value: Value) => finite(toNumber(value));
				return order(compileAs(left, number), compileAs(right, number));
			}
			case "moment":
				return order(moment(left), moment(right));
			case "text":
				return order(compileAs(left, toText), compileAs(right, toText));
			case "json": {
				const [a, b] = [compile(left), compile(right)];
				return (cells) => orderOfJson(a(cells), b(cells));
			}
			case undefined:
				return () => null;
		}
	}

	function moment(expression: Expression): Get<string> {
		if (kindOf(expression) === "timestamp") return compileAs(expression, toText);
		if (!isLiteral(expression)) return compileAs(expression, toMoment);
		const at = toMoment(expression.value);
		return () => at;
	}

	function predicate({ name, args }: Extract<Expression, { type: "predicate" }>): Get<boolean> {
		const [first = NULL, ...others] = args;
		switch (name) {
			case "and":
				return every(args.map((arg) => compileAs(arg, toBoolean)));
			case "or":
				return some(args.map((arg) => compileAs(arg, toBoolean)));
			case "not":
				return not(compileAs(first, toBoolean));
			case "in":
				return some(
					others.map((right) =>
						comparison({
							type: "comparison",
							operator: "=",
							left: first,
							right,
						}),
					),
				);
			case "like": {
				const text = compileAs(first, toText);
				const [pattern = NULL] = others;
				const matches = like(pattern.type === "literal" ? String(pattern.value) : "");
				return (cells) => {
					const value = text(cells);
					return value === null ? null : matches(value);
				};
			}
			case "is null": {
				const get = compile(first);
				return (cells) => isNull(get(cells));
			}
		}
	}

	function call({ name, args }: Extract<Expression, { type: "call" }>): Get {
		const [first = NULL, second = NULL, third = NULL] = args;
		switch (name) {
			case "toString":
				return compileAs(first, toText);
			case "toInt":
				return compileAs(first, (value) => {
					const number = toNumber(value);
					return number === null ? null : Math.trunc(number);
				});
			case "toFloat":
				return compileAs(first, toNumber);
			case "toDate":
				return compileAs(first, toDate);
			case "lower":
				return compileAs(first, (value) => toText(value)?.toLowerCase() ?? null);
			case "upper":
				return compileAs(first, (value) => toText(value)?.toUpperCase() ?? null);
			case "length":
				return compileAs(first, (value) => {
					const text = toText(value);
					return text === null ? null : lengthOf(text);
				});
			case "concat": {
				const texts = args.map((arg) => compileAs(arg, toText));
				return (cells) => texts.map((text) => text(cells) ?? "").join("");
			}
			case "coalesce": {
				const values = args.map(compile);
				return (cells) => {
					for (const get of values) {
						const value = get(cells);
						if (!isNull(value)) return value;
					}
					return null;
				};
			}
			case "if": {
				const condition = compileAs(first, toBoolean);
				const [then, otherwise] = [compile(second), compile(third)];
				return (cells) => (condition(cells) ? then(cells) : otherwise(cells));
			}
		}
	}

	return { compile, compileAs };
}

const NULL: Expression = { type: "literal", value: null };

const OPERATIONS = {
	"+": (a: number, b: number) => a + b,
	"-": (a: number, b: number) => a - b,
	"*": (a: number, b: number) => a * b,
	"/": (a: number, b: number) => (b === 0 ? NaN : a / b),
};

const COMPARISONS = {
	"=": (order: number) => order === 0,
	"!=": (order: number) => order !== 0,
	"<": (order: number) => order < 0,
	"<=": (order: number) => order <= 0,
	">": (order: number) => order > 0,
	">=": (order: number) => order >= 0,
};

const isNull = (value: Value) =>
	value === null || (typeof value === "number" && !Number.isFinite(value));

/** Compares texts by code units; null if one of the values is missing. */
function orderBetween<T extends string | number>(a: T | null, b: T | null) {
	if (a === null || b === null) return null;
	return a === b ? 0 : a < b ? -1 : 1;
}

const order =
	<T extends string | number>(left: Get<T>, right: Get<T>): Get<number> =>
	(cells) =>
		orderBetween(left(cells), right(cells));

/** Compares numbers as numbers, unless they are equal and may have lost digits; anything else as text. */
function orderOfJson(left: Value, right: Value) {
	const [a, b] = [left, right].map((value) =>
		isJson(value) && "value" in value ? value.value : value,
	);
	return typeof a === "number" &&
		typeof b === "number" &&
		!(a === b && Math.abs(a) > Number.MAX_SAFE_INTEGER)
		? orderBetween(a, b)
		: orderBetween(toText(left), toText(right));
}

const not =
	(condition: Get<boolean>): Get<boolean> =>
	(cells) => {
		const value = condition(cells);
		return value === null ? null : !value;
	};

/** True if one of the conditions is true, otherwise null if one of them is null. */
const some =
	(conditions: Get<boolean>[]): Get<boolean> =>
	(cells) => {
		let result: boolean | null = false;
		for (const condition of conditions) {
			const value = condition(cells);
			if (value) return true;
			if (value === null) result = null;
		}
		return result;
	};

const every = (conditions: Get<boolean>[]) => not(some(conditions.map(not)));

/** Counts characters (code points), not code units. */
function lengthOf(text: string) {
	let length = 0;
	for (const _ of text) length += 1;
	return length;
}

/** The smallest integer beyond 64 bits. Doubles have no other value near it. */
const INT64_LIMIT = 2 ** 63;

/** Converts a value for a column of this kind; undefined if the column can't hold it. */
function typed(kind: Kind, value: Value): Row[number] | undefined {
	if (value === null) return null;
	switch (kind) {
		case "integer":
		case "number": {
			const number = toNumber(value);
			if (number === null) return null;
			const fits = Number.isFinite(number) && (kind === "number" || Math.abs(number) < INT64_LIMIT);
			return fits ? number : undefined;
		}
		case "boolean":
			return toBoolean(value);
		case "json":
			return toJson(value);
		default:
			return toText(value);
	}
}

/** Applies a query to rows. `unfit` counts values that are null because their field can't hold them. */
export type Evaluate = (rows: Row[]) => { rows: Row[]; unfit: number };

/**
 * Compiles a query, which filters rows by its condition and computes its fields. A value that its field can't hold (an
 * integer beyond 64 bits, an infinite number) becomes null (docs/exports.md#runs).
 * @param columns the names of a row's values
 * @param where the condition; null for all rows
 */
export function evaluator(columns: string[], fields: Field[], where: Expression | null): Evaluate {
	const isColumn = ({ expression }: Field, at: number) =>
		expression.type === "column" && expression.name === columns[at];
	if (where === null && fields.length === columns.length && fields.every(isColumn))
		return (rows) => ({ rows, unfit: 0 });
	const { compile, compileAs } = compiler(columns);
	const condition = where && compileAs(where, toBoolean);
	const gets = fields.map(({ kind, expression }) => ({
		kind,
		get: compile(expression),
	}));
	return (rows) => {
		let unfit = 0;
		const taken: Row[] = [];
		for (const values of rows) {
			const cells: Cells = { values, parsed: [], exact: [] };
			if (condition && !condition(cells)) continue;
			taken.push(
				gets.map(({ kind, get }) => {
					const value = typed(kind, get(cells));
					if (value === undefined) unfit += 1;
					return value ?? null;
				}),
			);
		}
		return { rows: taken, unfit };
	};
}
