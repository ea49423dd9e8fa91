import { parseExact } from "../../../lib/lossless_json.ts";
import { comparedAs, type Expression, isLiteral, kindOf, NULL } from "../../query/expression.ts";
import {
	finite,
	type Get,
	isNull,
	lengthOf,
	orderBetween,
	parseJson,
	toBoolean,
	toDate,
	toMoment,
	toNumber,
	toText,
	type Value,
	valueAt,
} from "../../query/values.ts";
import { like } from "../like.ts";
import { computeExactly, type Numeric, orderOfJson, toExactNumber, toInteger } from "./numbers.ts";

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

const order =
	<T extends string | number | bigint>(left: Get<T>, right: Get<T>): Get<number> =>
	(cells) =>
		orderBetween(left(cells), right(cells));

/** NOT in three-valued logic, as in SQL: null is "unknown". */
const not =
	(condition: Get<boolean>): Get<boolean> =>
	(cells) => {
		const value = condition(cells);
		return value === null ? null : !value;
	};

/** OR: true if one of the conditions is true, otherwise null if one of them is null. */
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

/** Compiles an expression to a function of rows. `columns`: the names of a row's values. */
export function compile(columns: string[], expression: Expression): Get {
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
			return operation(columns, expression);
		case "comparison":
			return comparison(columns, expression);
		case "predicate":
			return predicate(columns, expression);
		case "call":
			return call(columns, expression);
	}
}

export const compileAs = <T extends Value>(
	columns: string[],
	expression: Expression,
	to: (value: Value) => T | null,
): Get<T> => {
	const get = compile(columns, expression);
	return (cells) => to(get(cells));
};

function operation(
	columns: string[],
	expression: Extract<Expression, { type: "operation" }>,
): Get<Numeric> {
	const { operator } = expression;
	const left = compileAs(columns, expression.left, toExactNumber);
	const right = compileAs(columns, expression.right, toExactNumber);
	const compute = OPERATIONS[operator];
	const isInteger = kindOf(expression) === "integer";
	return (cells) => {
		const [a, b] = [left(cells), right(cells)];
		if (a === null || b === null) return null;
		const result = compute(Number(a), Number(b));
		if (Number.isNaN(result)) return null;
		return isInteger && operator !== "/" ? computeExactly(operator, a, b, result) : result;
	};
}

function comparison(
	columns: string[],
	{ operator, left, right }: Extract<Expression, { type: "comparison" }>,
): Get<boolean> {
	const compare = ordered(columns, left, right);
	const decide = COMPARISONS[operator];
	return (cells) => {
		const order = compare(cells);
		return order === null ? null : decide(order);
	};
}

/** Compiles a comparison whose result is negative, 0 or positive, like that of a sort function. */
function ordered(columns: string[], left: Expression, right: Expression): Get<number> {
	switch (comparedAs(kindOf(left), kindOf(right))) {
		case "number": {
			const number = (value: Value) => finite(toExactNumber(value));
			return order(compileAs(columns, left, number), compileAs(columns, right, number));
		}
		case "moment":
			return order(moment(columns, left), moment(columns, right));
		case "text":
			return order(compileAs(columns, left, toText), compileAs(columns, right, toText));
		case "json": {
			const [a, b] = [compile(columns, left), compile(columns, right)];
			return (cells) => orderOfJson(a(cells), b(cells));
		}
		case undefined:
			return () => null;
	}
}

function moment(columns: string[], expression: Expression): Get<string> {
	if (kindOf(expression) === "timestamp") return compileAs(columns, expression, toText);
	if (!isLiteral(expression)) return compileAs(columns, expression, toMoment);
	const at = toMoment(expression.value);
	return () => at;
}

function predicate(
	columns: string[],
	{ name, args }: Extract<Expression, { type: "predicate" }>,
): Get<boolean> {
	const [first = NULL, ...others] = args;
	switch (name) {
		case "and":
			return not(some(args.map((arg) => not(compileAs(columns, arg, toBoolean)))));
		case "or":
			return some(args.map((arg) => compileAs(columns, arg, toBoolean)));
		case "not":
			return not(compileAs(columns, first, toBoolean));
		case "in":
			return some(
				others.map((right) =>
					comparison(columns, { type: "comparison", operator: "=", left: first, right }),
				),
			);
		case "like": {
			const text = compileAs(columns, first, toText);
			const [pattern = NULL] = others;
			const matches = like(pattern.type === "literal" ? String(pattern.value) : "");
			return (cells) => {
				const value = text(cells);
				return value === null ? null : matches(value);
			};
		}
		case "is null": {
			const get = compile(columns, first);
			return (cells) => isNull(get(cells));
		}
	}
}

function call(columns: string[], { name, args }: Extract<Expression, { type: "call" }>): Get {
	const [first = NULL, second = NULL, third = NULL] = args;
	switch (name) {
		case "toString":
			return compileAs(columns, first, toText);
		case "toInt":
			return compileAs(columns, first, toInteger);
		case "toFloat":
			return compileAs(columns, first, toNumber);
		case "toDate":
			return compileAs(columns, first, toDate);
		case "lower":
			return compileAs(columns, first, (value) => toText(value)?.toLowerCase() ?? null);
		case "upper":
			return compileAs(columns, first, (value) => toText(value)?.toUpperCase() ?? null);
		case "length":
			return compileAs(columns, first, (value) => {
				const text = toText(value);
				return text === null ? null : lengthOf(text);
			});
		case "concat": {
			const texts = args.map((arg) => compileAs(columns, arg, toText));
			return (cells) => texts.map((text) => text(cells) ?? "").join("");
		}
		case "coalesce": {
			const values = args.map((arg) => compile(columns, arg));
			return (cells) => {
				for (const get of values) {
					const value = get(cells);
					if (!isNull(value)) return value;
				}
				return null;
			};
		}
		case "if": {
			const condition = compileAs(columns, first, toBoolean);
			const [then, otherwise] = [compile(columns, second), compile(columns, third)];
			return (cells) => (condition(cells) ? then(cells) : otherwise(cells));
		}
	}
}
