import type { QuerySchema } from "../db/schema.ts";
import type { Kind } from "../exporter/rows.ts";
import { invalid } from "../http/errors.ts";
import * as grammar from "./query.parser.js";

export type Literal = string | number | boolean | null;

/** What a query takes of an event: a column, a path into its JSON, a literal, or a function of such. */
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
	| { type: "call"; name: FunctionName; args: Expression[] };

/** One column of what a query answers. */
export type Field = { name: string; kind: Kind; expression: Expression };

/** A query as it was understood. */
export type Query = { fields: Field[]; schema: QuerySchema };

const MOST_CHARACTERS = 10_000;

/** D1 answers at most 100 columns, and an export needs up to ten of its own. */
const MOST_FIELDS = 90;

/** What keeps the SQL of a query below the 100,000 bytes that D1 takes. */
const MOST_PARTS = 400;

/** What keeps the SQL of an expression below the depth of 100 that D1 takes, where a function is up to nine deep. */
const DEEPEST = 50;
const DEPTH_OF_CALL = 5;

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

/** Columns that only an export's own model takes. */
const INTERNAL: Record<string, Kind> = {
	_inserted_at: "timestamp",
	person_version: "integer",
};

const isNumeric = (kind: Kind | null) =>
	kind === null || kind === "integer" || kind === "number";

/** What holds the values of all: their own kind, number for numbers of both kinds, else JSON. null: none has a value. */
const common = (kinds: (Kind | null)[]): Kind | null => {
	const [kind = null, ...others] = new Set(kinds.filter((each) => each));
	if (others.length === 0) return kind;
	return kinds.every(isNumeric) ? "number" : "json";
};

/** How many arguments a function takes, and the kind of what it answers to arguments of these kinds. */
type Signature = {
	fewest: number;
	most: number;
	kind: (args: (Kind | null)[]) => Kind | null;
};

const takes = (
	fewest: number,
	most: number,
	answers: Kind | Signature["kind"],
): Signature => ({
	fewest,
	most,
	kind: typeof answers === "string" ? () => answers : answers,
});

const FUNCTIONS = {
	toString: takes(1, 1, "text"),
	toInt: takes(1, 1, "integer"),
	toFloat: takes(1, 1, "number"),
	lower: takes(1, 1, "text"),
	upper: takes(1, 1, "text"),
	length: takes(1, 1, "integer"),
	concat: takes(1, 100, "text"),
	coalesce: takes(1, 100, common),
	if: takes(3, 3, ([, ...branches]) => common(branches)),
	toDate: takes(1, 1, "date"),
};

type FunctionName = keyof typeof FUNCTIONS;

const isFunction = (name: string): name is FunctionName =>
	Object.hasOwn(FUNCTIONS, name);

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

/** What an expression's values are; null: it has none. */
export function kindOf(expression: Expression): Kind | null {
	switch (expression.type) {
		case "column":
			return COLUMNS[expression.name] ?? INTERNAL[expression.name] ?? "text";
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
		case "call":
			return FUNCTIONS[expression.name].kind(expression.args.map(kindOf));
	}
}

const refuse = (why: string, code?: string) => invalid("xql_query", why, code);

function read(text: string) {
	if (!text.isWellFormed()) throw refuse("Failed to parse query");
	try {
		return grammar.parse(text);
	} catch (error) {
		if (!(error instanceof grammar.SyntaxError)) throw error;
		throw refuse(
			error.expected === null ? error.message : "Failed to parse query",
		);
	}
}

const partsOf = (said: grammar.Said) => {
	switch (said.type) {
		case "operation":
			return [said.left, said.right];
		case "call":
			return said.args;
		default:
			return [];
	}
};

/** Goes level by level: how deep this is the text decides, and the stack is not for that. */
function bound(expressions: grammar.Said[]) {
	let parts = 0;
	let level = expressions.map((said) => ({ said, depth: 0 }));
	while (level.length > 0) {
		parts += level.length;
		level = level.flatMap(({ said, depth }) =>
			partsOf(said).map((part) => ({
				said: part,
				depth: depth + (said.type === "call" ? DEPTH_OF_CALL : 1),
			})),
		);
		if (level.some(({ depth }) => depth > DEEPEST))
			throw refuse("Expressions are nested too deeply");
	}
	if (parts > MOST_PARTS)
		throw refuse(
			`A query has at most ${MOST_PARTS} columns, literals, operators and functions`,
		);
}

function resolve(said: grammar.Said): Expression {
	switch (said.type) {
		case "literal":
			return said;
		case "operation":
			return {
				...said,
				left: resolve(said.left),
				right: resolve(said.right),
			};
		case "name":
			return resolveName(said.parts);
		case "call":
			return resolveCall(said.name, said.args);
	}
}

function resolveName([column = "", ...path]: string[]): Expression {
	if (path.length === 0 && Object.hasOwn(COLUMNS, column))
		return { type: "column", name: column };
	if (
		path.length > 0 &&
		(column === "properties" || column === "person_properties")
	)
		return { type: "property", column, path };
	throw refuse(`Unable to resolve field: ${[column, ...path].join(".")}`);
}

function resolveCall(said: string, args: grammar.Said[]): Expression {
	const name = FUNCTION_NAMES.get(said.toLowerCase());
	if (name === undefined) throw refuse(`Unsupported function: ${said}`);
	const { fewest, most } = FUNCTIONS[name];
	if (args.length < fewest || args.length > most)
		throw refuse(
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

const precedence = (expression: Expression) => {
	if (expression.type !== "operation") return 3;
	return "+-".includes(expression.operator) ? 1 : 2;
};

/** The one text of an expression; `write` writes its literals. */
function format(
	expression: Expression,
	write: (value: Literal) => string = literal,
): string {
	const within = (part: Expression, least: number) =>
		precedence(part) < least ? `(${format(part, write)})` : format(part, write);
	switch (expression.type) {
		case "column":
			return expression.name;
		case "property":
			return [expression.column, ...expression.path.map(word)].join(".");
		case "literal":
			return write(expression.value);
		case "operation": {
			const own = precedence(expression);
			return `${within(expression.left, own)} ${expression.operator} ${within(expression.right, own + 1)}`;
		}
		case "call":
			return `${expression.name}(${expression.args.map((arg) => format(arg, write)).join(", ")})`;
	}
}

const nameOf = (expression: Expression) =>
	expression.type === "property"
		? (expression.path.at(-1) ?? "")
		: format(expression);

/** Names become columns of files and tables. */
function checkNames(names: string[]) {
	const seen = new Set<string>();
	for (const name of names) {
		if (name === "" || [...name].length > 255)
			throw refuse("Names of fields have 1 to 255 characters: use AS");
		if (seen.has(name))
			throw refuse(`Names of fields must be distinct: ${name}`);
		seen.add(name);
	}
}

const checkLength = (text: string) => {
	if ([...text].length > MOST_CHARACTERS)
		throw refuse(
			`Ensure this field has no more than ${MOST_CHARACTERS} characters.`,
			"max_length",
		);
};

function describe(fields: Field[]): QuerySchema {
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
	return {
		fields: fields.map(({ name, expression }) => ({
			expression: format(expression, placeholder),
			alias: name,
		})),
		values,
		xql_query: `SELECT ${columns.join(", ")} FROM events`,
	};
}

/**
 * Reads the query of an export (behaviour 11.1); what is wrong with it is refused. What it is normalised to,
 * `schema.xql_query`, reads as the same query.
 */
export function parse(text: string): Query {
	checkLength(text);
	const said = read(text);
	if (said.table !== "events") throw refuse("Query must SELECT FROM events");
	if (said.fields.length > MOST_FIELDS)
		throw refuse(`A query has at most ${MOST_FIELDS} fields`);
	bound(said.fields.map(({ expression }) => expression));
	const fields = said.fields.map((field): Field => {
		const expression = resolve(field.expression);
		return {
			name: field.alias ?? nameOf(expression),
			kind: kindOf(expression) ?? "text",
			expression,
		};
	});
	checkNames(fields.map(({ name }) => name));
	const schema = describe(fields);
	checkLength(schema.xql_query);
	return { fields, schema };
}
