import type { ErrorCode } from "../../http/codes.ts";
import { readMoment } from "../../lib/moment.ts";
import {
	COLUMNS,
	comparedAs,
	type Expression,
	FUNCTIONS,
	isFunction,
	isLiteral,
	kindOf,
	type Literal,
	NULL,
	type ParsedExpression,
	type PredicateName,
	partsOf,
} from "./expression.ts";
import { quoted } from "./format.ts";

/** Bounds the work for each row. */
const MAX_PARTS = 400;

/** Evaluation is recursive. */
const MAX_DEPTH = 50;

/** Matching needs up to as many steps as the length of the pattern times the length of the text. */
const MAX_PATTERN_LENGTH = 255;

const FUNCTION_NAMES = new Map(
	Object.keys(FUNCTIONS)
		.filter(isFunction)
		.map((name) => [name.toLowerCase(), name]),
);

export class InvalidQueryError extends Error {
	readonly code: ErrorCode | undefined;

	constructor(message: string, code?: ErrorCode) {
		super(message);
		this.code = code;
	}
}

export const invalidQuery = (message: string, code?: ErrorCode) =>
	new InvalidQueryError(message, code);

/** Checks size and depth, level by level, because recursion could overflow the stack. */
export function checkSize(expressions: ParsedExpression[]) {
	let parts = 0;
	let level = expressions.map((parsed) => ({ parsed, depth: 0 }));
	while (level.length > 0) {
		parts += level.length;
		level = level.flatMap(({ parsed, depth }) =>
			partsOf(parsed).map((part) => ({ parsed: part, depth: depth + 1 })),
		);
		if (level.some(({ depth }) => depth > MAX_DEPTH))
			throw invalidQuery("Expressions are nested too deeply");
	}
	if (parts > MAX_PARTS)
		throw invalidQuery(
			`A query can have at most ${MAX_PARTS} columns, literals, operators and functions`,
		);
}

/** Replaces names by columns and properties, and checks what the grammar can't. */
export function resolve(parsed: ParsedExpression): Expression {
	switch (parsed.type) {
		case "literal":
			return parsed;
		case "operation":
			return { ...parsed, left: resolve(parsed.left), right: resolve(parsed.right) };
		case "comparison": {
			const left = resolve(parsed.left);
			const right = resolve(parsed.right);
			checkComparison(left, right, "=!".includes(parsed.operator.charAt(0)));
			return { ...parsed, left, right };
		}
		case "predicate":
			if (parsed.name === "like") checkPattern(parsed.args[1], parsed.at);
			return resolvePredicate(parsed.name, parsed.args.map(resolve));
		case "name":
			return resolveName(parsed.parts);
		case "call":
			return resolveCall(parsed.name, parsed.args);
	}
}

function resolvePredicate(name: PredicateName, args: Expression[]): Expression {
	const [value = NULL, ...others] = args;
	switch (name) {
		case "and":
		case "or":
			return {
				type: "predicate",
				name,
				args: args.flatMap((arg) =>
					arg.type === "predicate" && arg.name === name ? arg.args : [arg],
				),
			};
		case "in":
			for (const other of others) checkComparison(value, other, true);
			break;
	}
	return { type: "predicate", name, args };
}

/** Whether a literal may differ from the number that was written. */
const losesDigits = (value: Literal) =>
	typeof value === "bigint"
		? BigInt.asIntN(64, value) !== value
		: typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER;

/**
 * @throws {InvalidQueryError} for a comparison that can never be true, or that is also true for
 * other values
 */
function checkComparison(left: Expression, right: Expression, isEquality: boolean) {
	const kinds = [kindOf(left), kindOf(right)] as const;
	const compared = comparedAs(...kinds);
	if (compared === undefined) throw invalidQuery(`Unable to compare ${kinds.join(" with ")}`);
	for (const { value } of [left, right].filter(isLiteral)) {
		if (compared === "moment" && typeof value === "string" && readMoment(value) === undefined)
			throw invalidQuery(`Unable to read as a time: ${quoted(value, "'")}`);
		if (isEquality && compared === "number" && losesDigits(value))
			throw invalidQuery(
				"Integers beyond 64 bits, and large ones with a point or an exponent, lose digits: compare with text, in quotes",
			);
	}
}

function checkPattern(pattern?: ParsedExpression, at = 1) {
	if (pattern?.type !== "literal" || typeof pattern.value !== "string")
		throw invalidQuery(`LIKE requires a text in quotes, at character ${at}`);
	if ([...pattern.value].length > MAX_PATTERN_LENGTH)
		throw invalidQuery(
			`A pattern can have at most ${MAX_PATTERN_LENGTH} characters: see that at character ${at}`,
		);
}

function resolveName([column = "", ...path]: string[]): Expression {
	if (path.length === 0 && Object.hasOwn(COLUMNS, column)) return { type: "column", name: column };
	if (path.length > 0 && (column === "properties" || column === "person_properties"))
		return { type: "property", column, path };
	throw invalidQuery(`Unable to resolve field: ${[column, ...path].join(".")}`);
}

function resolveCall(written: string, args: ParsedExpression[]): Expression {
	const name = FUNCTION_NAMES.get(written.toLowerCase());
	if (name === undefined) throw invalidQuery(`Unsupported function: ${written}`);
	const { min, max } = FUNCTIONS[name];
	if (args.length < min || args.length > max)
		throw invalidQuery(
			`${name} takes ${min === max ? min : `${min} to ${max}`} ${max === 1 ? "argument" : "arguments"}`,
		);
	return { type: "call", name, args: args.map(resolve) };
}
