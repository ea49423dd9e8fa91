/**
 * The type of a column's values: `text`, `integer` (of 64 bits), `number`, `boolean`, `timestamp`
 * (ISO 8601 in UTC with milliseconds), `date` (YYYY-MM-DD), or `json` (JSON text).
 */
export type Kind = "text" | "integer" | "number" | "boolean" | "timestamp" | "date" | "json";

/** An integer is a bigint if a number would lose digits of it. */
export type Literal = string | number | bigint | boolean | null;

/** A tree of expressions. `Name` is the type of the names of functions. */
type Tree<Leaf, Name> =
	| Leaf
	| { type: "literal"; value: Literal }
	| {
			type: "operation";
			operator: "+" | "-" | "*" | "/";
			left: Tree<Leaf, Name>;
			right: Tree<Leaf, Name>;
	  }
	| {
			type: "comparison";
			operator: "=" | "!=" | "<" | "<=" | ">" | ">=";
			left: Tree<Leaf, Name>;
			right: Tree<Leaf, Name>;
	  }
	/** "in" has a value and its list, "like" a value and a text literal, "and" two or more. */
	| {
			type: "predicate";
			name: "and" | "or" | "not" | "in" | "like" | "is null";
			args: Tree<Leaf, Name>[];
			/** Where the pattern of a "like" was written, if it was parsed: a character's number, from 1. */
			at?: number;
	  }
	| { type: "call"; name: Name; args: Tree<Leaf, Name>[] };

/** An expression over an event: columns, paths into JSON, literals, combined. */
export type Expression = Tree<
	| { type: "column"; name: string }
	| { type: "property"; column: "properties" | "person_properties"; path: string[] },
	FunctionName
>;

/** An expression as it was written, with names that aren't resolved. */
export type ParsedExpression = Tree<{ type: "name"; parts: string[] }, string>;

export type Field = { name: string; kind: Kind; expression: Expression };

/** The columns that queries can name. */
export const COLUMNS: Record<string, Kind> = {
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

/** The kind for values of all `kinds`: JSON if they have nothing in common; null for NULL. */
const common = (kinds: (Kind | null)[]): Kind | null => {
	const [kind = null, ...others] = new Set(kinds.filter((kind) => kind !== null));
	if (others.length === 0) return kind;
	return kinds.every(isNumeric) ? "number" : "json";
};

/** How many arguments a function takes, and the kind of its result, given theirs. */
type Signature = { min: number; max: number; kind: (args: (Kind | null)[]) => Kind | null };

const signature = (min: number, max: number, result: Kind | Signature["kind"]): Signature => ({
	min,
	max,
	kind: typeof result === "string" ? () => result : result,
});

export const FUNCTIONS = {
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

export type PredicateName = Extract<Expression, { type: "predicate" }>["name"];

export const NULL: Expression = { type: "literal", value: null };

export const isLiteral = (expression: Expression) => expression.type === "literal";

export const isFunction = (name: string): name is FunctionName => Object.hasOwn(FUNCTIONS, name);

const kindOfLiteral = (value: Literal): Kind | null => {
	if (value === null) return null;
	if (typeof value === "string") return "text";
	if (typeof value === "boolean") return "boolean";
	return typeof value === "bigint" || Number.isSafeInteger(value) ? "integer" : "number";
};

/** Returns the kind of an expression's values; null if they are all null. */
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

/** Returns the operands or arguments of an expression. */
export function partsOf<E extends Expression | ParsedExpression>(expression: E): E[];
export function partsOf(
	expression: Expression | ParsedExpression,
): (Expression | ParsedExpression)[] {
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

export type Leaf = Extract<Expression, { type: "column" | "property" | "literal" }>;

/** Returns the columns, properties and literals in an expression. */
export function leavesOf(expression: Expression): Leaf[] {
	switch (expression.type) {
		case "column":
		case "property":
		case "literal":
			return [expression];
		default:
			return partsOf(expression).flatMap(leavesOf);
	}
}

/**
 * Returns how values of these kinds are compared; undefined if they can't be. "json" compares
 * numbers as numbers and anything else as text. A comparison with NULL (kind null) is always null.
 */
type Comparison = "number" | "moment" | "text" | "json";

export function comparedAs(left: Kind | null, right: Kind | null): Comparison | undefined {
	if (left === null || right === null) return "text";
	if (left === "json" && right === "json") return "json";
	const kinds = [left, right];
	const isOneOf = (...candidates: Kind[]) => kinds.some((kind) => candidates.includes(kind));
	if (isOneOf("integer", "number"))
		return isOneOf("boolean", "timestamp", "date") ? undefined : "number";
	if (isOneOf("timestamp", "date")) return isOneOf("boolean") ? undefined : "moment";
	return "text";
}
