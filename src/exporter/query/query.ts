import type { QuerySchema } from "../../db/schema.ts";
import type { ErrorCode } from "../../http/codes.ts";
import { invalid } from "../../http/errors.ts";
import { readMoment } from "../../http/fields.ts";
import type { Kind } from "../rows.ts";
import * as grammar from "./query.parser.js";

export type Literal = string | number | boolean | null;

/** An expression over an event: a column, a path into its JSON, a literal, or a combination of these. */
export type Expression =
	| { type: "column"; name: string }
	| {
			type: "property";
			column: "properties" | "person_properties";
			path: string[];
	  }
	| { type: "literal"; value: Literal }
	| {
			type: "operation";
			operator: "+" | "-" | "*" | "/";
			left: Expression;
			right: Expression;
	  }
	| {
			type: "comparison";
			operator: "=" | "!=" | "<" | "<=" | ">" | ">=";
			left: Expression;
			right: Expression;
	  }
	/** "and" and "or" take two operands or more, "in" a value and its list, "like" a value and a text literal. */
	| {
			type: "predicate";
			name: "and" | "or" | "not" | "in" | "like" | "is null";
			args: Expression[];
	  }
	| { type: "call"; name: FunctionName; args: Expression[] };

/** One column of a query's result. */
export type Field = { name: string; kind: Kind; expression: Expression };

/** A parsed query. */
type Query = {
	fields: Field[];
	/** The condition; null for all events. */
	where: Expression | null;
	schema: QuerySchema;
};

const MAX_CHARACTERS = 10_000;

const MAX_FIELDS = 90;

/** Bounds the work for each row. */
const MAX_PARTS = 400;

/** Evaluation is recursive. */
const MAX_DEPTH = 50;

/** Matching takes up to pattern length times text length steps. */
const MAX_PATTERN_LENGTH = 255;

const COLUMNS: Record<string, Kind> = {
	uuid: "text",
	event: "text",
	distinct_id: "text",
	person_id: "text",
	properties: "json",
	person_properties: "json",
	elements_chain: "text",
	timestamp: "timestamp",
	created_at: "timestamp",
	team_id: "integer",
};

/** Columns that queries can't name. Only exports without a query have them. */
const INTERNAL_COLUMNS: Record<string, Kind> = {
	_inserted_at: "timestamp",
	person_version: "integer",
};

const isNumeric = (kind: Kind | null) => kind === null || kind === "integer" || kind === "number";

/** The kind that fits values of all `kinds`: JSON if they have nothing in common. Null is the kind of NULL. */
const common = (kinds: (Kind | null)[]): Kind | null => {
	const [kind = null, ...others] = new Set(kinds.filter((kind) => kind !== null));
	if (others.length === 0) return kind;
	return kinds.every(isNumeric) ? "number" : "json";
};

/** How many arguments a function takes, and the kind of its result, given the kinds of its arguments. */
type Signature = {
	fewest: number;
	most: number;
	kind: (args: (Kind | null)[]) => Kind | null;
};

const signature = (fewest: number, most: number, result: Kind | Signature["kind"]): Signature => ({
	fewest,
	most,
	kind: typeof result === "string" ? () => result : result,
});

const FUNCTIONS = {
	toString: signature(1, 1, "text"),
	toInt: signature(1, 1, "integer"),
	toFloat: signature(1, 1, "number"),
	lower: signature(1, 1, "text"),
	upper: signature(1, 1, "text"),
	length: signature(1, 1, "integer"),
	concat: signature(1, 100, "text"),
	coalesce: signature(1, 100, common),
	if: signature(3, 3, ([, ...branches]) => common(branches)),
	toDate: signature(1, 1, "date"),
};

type FunctionName = keyof typeof FUNCTIONS;

type PredicateName = Extract<Expression, { type: "predicate" }>["name"];

const NULL: Expression = { type: "literal", value: null };

export const isLiteral = (expression: Expression) => expression.type === "literal";

const isFunction = (name: string): name is FunctionName => Object.hasOwn(FUNCTIONS, name);

const FUNCTION_NAMES = new Map(
	Object.keys(FUNCTIONS)
		.filter(isFunction)
		.map((name) => [name.toLowerCase(), name]),
);

const kindOfLiteral = (value: Literal): Kind | null => {
	if (value === null) return null;
	if (typeof value === "string") return "text";
	if (typeof value === "boolean") return "boolean";
	return Number.isSafeInteger(value) ? "integer" : "number";
};

/** The kind of an expression's values; null if they are all null. */
export function kindOf(expression: Expression): Kind | null {
	switch (expression.type) {
		case "column":
			return COLUMNS[expression.name] ?? INTERNAL_COLUMNS[expression.name] ?? "text";
		case "property":
			return "json";
		case "literal":
			return kindOfLiteral(expression.value);
		case "operation":
			return expression.operator !== "/" &&
				kindOf(expression.left) === "integer" &&
				kindOf(expression.right) === "integer"
				? "integer"
				: "number";
		case "comparison":
		case "predicate":
			return "boolean";
		case "call":
			return FUNCTIONS[expression.name].kind(expression.args.map(kindOf));
	}
}

/** The operands or arguments of an expression. */
export function partsOf<E extends Expression | grammar.Said>(expression: E): E[];
export function partsOf(expression: Expression | grammar.Said): (Expression | grammar.Said)[] {
	switch (expression.type) {
		case "operation":
		case "comparison":
			return [expression.left, expression.right];
		case "predicate":
		case "call":
			return expression.args;
		default:
			return [];
	}
}

/**
 * How values of these kinds are compared; undefined if they can't be. "json" compares numbers as numbers and anything else
 * as text. A comparison with NULL (kind null) is always null.
 */
export function comparedAs(
	left: Kind | null,
	right: Kind | null,
): "number" | "moment" | "text" | "json" | undefined {
	if (left === null || right === null) return "text";
	if (left === "json" && right === "json") return "json";
	const kinds = [left, right];
	const isOneOf = (...candidates: Kind[]) => kinds.some((kind) => candidates.includes(kind));
	if (isOneOf("integer", "number"))
		return isOneOf("boolean", "timestamp", "date") ? undefined : "number";
	if (isOneOf("timestamp", "date")) return isOneOf("boolean") ? undefined : "moment";
	return "text";
}

const invalidQuery = (message: string, code?: ErrorCode) => invalid("xql_query", message, code);

function read(text: string) {
	if (!text.isWellFormed()) throw invalidQuery("Failed to parse query");
	try {
		return grammar.parse(text);
	} catch (error) {
		if (!(error instanceof grammar.SyntaxError)) throw error;
		throw invalidQuery(error.expected === null ? error.message : "Failed to parse query");
	}
}

/** Checks size and depth, level by level: recursion could overflow the stack before the depth is known. */
function checkSize(expressions: grammar.Said[]) {
	let parts = 0;
	let level = expressions.map((parsed) => ({ parsed, depth: 0 }));
	while (level.length > 0) {
		parts += level.length;
		level = level.flatMap(({ parsed, depth }) =>
			partsOf(parsed).map((part) => ({
				parsed: part,
				depth: depth + 1,
			})),
		);
		if (level.some(({ depth }) => depth > MAX_DEPTH))
			throw invalidQuery("Expressions are nested too deeply");
	}
	if (parts > MAX_PARTS)
		throw invalidQuery(
			`A query has at most ${MAX_PARTS} columns, literals, operators and functions`,
		);
}

function resolve(parsed: grammar.Said): Expression {
	switch (parsed.type) {
		case "literal":
			return parsed;
		case "operation":
			return {
				...parsed,
				left: resolve(parsed.left),
				right: resolve(parsed.right),
			};
		case "comparison": {
			const left = resolve(parsed.left);
			const right = resolve(parsed.right);
			checkComparison(left, right, "=!".includes(parsed.operator.charAt(0)));
			return { ...parsed, left, right };
		}
		case "predicate":
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
		case "like":
			checkPattern(others[0] ?? NULL);
			break;
	}
	return { type: "predicate", name, args };
}

/** @throws 400 for a comparison that can never be true, or that is also true for other values */
function checkComparison(left: Expression, right: Expression, isEquality: boolean) {
	const kinds = [kindOf(left), kindOf(right)] as const;
	const compared = comparedAs(...kinds);
	if (compared === undefined) throw invalidQuery(`Unable to compare ${kinds.join(" with ")}`);
	for (const { value } of [left, right].filter(isLiteral)) {
		if (compared === "moment" && typeof value === "string" && readMoment(value) === undefined)
			throw invalidQuery(`Unable to read as a time: ${quoted(value, "'")}`);
		if (
			isEquality &&
			compared === "number" &&
			typeof value === "number" &&
			Math.abs(value) > Number.MAX_SAFE_INTEGER
		)
			throw invalidQuery(
				`Integers beyond ${Number.MAX_SAFE_INTEGER} lose digits: compare with text, in quotes`,
			);
	}
}

function checkPattern(pattern: Expression) {
	if (!isLiteral(pattern) || typeof pattern.value !== "string")
		throw invalidQuery("LIKE takes a text in quotes");
	if ([...pattern.value].length > MAX_PATTERN_LENGTH)
		throw invalidQuery(`A pattern has at most ${MAX_PATTERN_LENGTH} characters`);
}

function resolveName([column = "", ...path]: string[]): Expression {
	if (path.length === 0 && Object.hasOwn(COLUMNS, column)) return { type: "column", name: column };
	if (path.length > 0 && (column === "properties" || column === "person_properties"))
		return { type: "property", column, path };
	throw invalidQuery(`Unable to resolve field: ${[column, ...path].join(".")}`);
}

function resolveCall(written: string, args: grammar.Said[]): Expression {
	const name = FUNCTION_NAMES.get(written.toLowerCase());
	if (name === undefined) throw invalidQuery(`Unsupported function: ${written}`);
	const { fewest, most } = FUNCTIONS[name];
	if (args.length < fewest || args.length > most)
		throw invalidQuery(
			`${name} takes ${fewest === most ? fewest : `${fewest} to ${most}`} ${most === 1 ? "argument" : "arguments"}`,
		);
	return { type: "call", name, args: args.map(resolve) };
}

const ESCAPES: Record<string, string> = {
	"\\": "\\\\",
	"\n": "\\n",
	"\r": "\\r",
	"\t": "\\t",
};

const quoted = (text: string, quote: "'" | '"') =>
	`${quote}${text
		.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? character)
		.replaceAll(quote, quote + quote)}${quote}`;

const word = (text: string) =>
	/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(text) ? text : quoted(text, '"');

const literal = (value: Literal) =>
	typeof value === "string" ? quoted(value, "'") : String(value);

/** Precedences, lowest first. */
const OR = 1;
const AND = 2;
const NOT = 3;
const TEST = 4;
const SUM = 5;
const PRODUCT = 6;
const OPERAND = 7;

/** The predicate that a negation is written with, as in `NOT IN`; undefined if it is written as `NOT …`. */
function negatedTest(expression: Expression) {
	if (expression.type !== "predicate" || expression.name !== "not") return;
	const [test = NULL] = expression.args;
	return test.type === "predicate" && ["in", "like", "is null"].includes(test.name)
		? test
		: undefined;
}

function precedence(expression: Expression): number {
	switch (expression.type) {
		case "operation":
			return "+-".includes(expression.operator) ? SUM : PRODUCT;
		case "comparison":
			return TEST;
		case "predicate":
			switch (expression.name) {
				case "or":
					return OR;
				case "and":
					return AND;
				case "not":
					return negatedTest(expression) ? TEST : NOT;
				default:
					return TEST;
			}
		default:
			return OPERAND;
	}
}

type Write = (value: Literal) => string;

/** The normalised text of an expression. `write` formats its literals. */
function format(expression: Expression, write: Write = literal): string {
	const within = (part: Expression, least: number) =>
		precedence(part) < least ? `(${format(part, write)})` : format(part, write);
	switch (expression.type) {
		case "column":
			return expression.name;
		case "property":
			return [expression.column, ...expression.path.map(word)].join(".");
		case "literal":
			return write(expression.value);
		case "operation":
		case "comparison": {
			const level = precedence(expression);
			const { left, operator, right } = expression;
			const least = expression.type === "operation" ? level : SUM;
			return `${within(left, least)} ${operator} ${within(right, level + 1)}`;
		}
		case "predicate":
			return formatPredicate(expression, within);
		case "call":
			return `${expression.name}(${expression.args.map((arg) => format(arg, write)).join(", ")})`;
	}
}

function formatPredicate(
	expression: Extract<Expression, { type: "predicate" }>,
	within: (part: Expression, least: number) => string,
): string {
	const negated = negatedTest(expression);
	const { name, args } = negated ?? expression;
	const not = negated ? "NOT " : "";
	const [value = NULL, ...others] = args;
	switch (name) {
		case "or":
			return args.map((arg) => within(arg, AND)).join(" OR ");
		case "and":
			return args.map((arg) => within(arg, NOT)).join(" AND ");
		case "not":
			return `NOT ${within(value, NOT)}`;
		case "in":
			return `${within(value, SUM)} ${not}IN (${others.map((other) => within(other, OR)).join(", ")})`;
		case "like":
			return `${within(value, SUM)} ${not}LIKE ${others.map((other) => within(other, SUM)).join()}`;
		case "is null":
			return `${within(value, SUM)} IS ${not}NULL`;
	}
}

const nameOf = (expression: Expression) =>
	expression.type === "property" ? (expression.path.at(-1) ?? "") : format(expression);

/** Names become column names of files and tables. */
function checkNames(names: string[]) {
	const seen = new Set<string>();
	for (const name of names) {
		if (name === "" || [...name].length > 255)
			throw invalidQuery("Names of fields have 1 to 255 characters: use AS");
		if (seen.has(name)) throw invalidQuery(`Names of fields must be distinct: ${name}`);
		seen.add(name);
	}
}

const checkLength = (text: string) => {
	if ([...text].length > MAX_CHARACTERS)
		throw invalidQuery(
			`Ensure this field has no more than ${MAX_CHARACTERS} characters.`,
			"max_length",
		);
};

function describe(fields: Field[], where: Expression | null): QuerySchema {
	const values: QuerySchema["values"] = {};
	const placeholder = (value: Literal) => {
		if (value === null || typeof value === "boolean") return literal(value);
		const name = `val_${Object.keys(values).length}`;
		values[name] = value;
		return `%(${name})s`;
	};
	const columns = fields.map(({ name, expression }) => {
		const text = format(expression);
		return nameOf(expression) === name ? text : `${text} AS ${word(name)}`;
	});
	const condition = where ? ` WHERE ${format(where)}` : "";
	return {
		fields: fields.map(({ name, expression }) => ({
			expression: format(expression, placeholder),
			alias: name,
		})),
		...(where && { where: format(where, placeholder) }),
		values,
		xql_query: `SELECT ${columns.join(", ")} FROM events${condition}`,
	};
}

/**
 * Parses the query of an export (docs/exports.md#queries). Its normalised text, `schema.xql_query`, parses to the same query.
 * @throws 400 if it is invalid
 */
export function parse(text: string): Query {
	checkLength(text);
	const parsed = read(text);
	if (parsed.table !== "events") throw invalidQuery("Query must SELECT FROM events");
	if (parsed.fields.length > MAX_FIELDS)
		throw invalidQuery(`A query has at most ${MAX_FIELDS} fields`);
	checkSize([
		...parsed.fields.map(({ expression }) => expression),
		...(parsed.where ? [parsed.where] : []),
	]);
	const fields = parsed.fields.map((field): Field => {
		const expression = resolve(field.expression);
		return {
			name: field.alias ?? nameOf(expression),
			kind: kindOf(expression) ?? "text",
			expression,
		};
	});
	checkNames(fields.map(({ name }) => name));
	const where = parsed.where && resolve(parsed.where);
	const schema = describe(fields, where);
	checkLength(schema.xql_query);
	return { fields, where, schema };
}
