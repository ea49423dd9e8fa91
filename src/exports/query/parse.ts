import type { QuerySchema } from "../../db/schema/batch_exports.ts";
import { type Expression, type Field, kindOf, type Literal } from "./expression.ts";
import { format, literal, nameOf, word } from "./format.ts";
import * as grammar from "./query.parser.js";
import { checkSize, invalidQuery, resolve } from "./resolve.ts";

type Query = {
	fields: Field[];
	where: Expression | null;
	schema: QuerySchema;
};

const MAX_CHARACTERS = 10_000;

const MAX_FIELDS = 90;

function read(text: string) {
	if (!text.isWellFormed()) throw invalidQuery("Failed to parse query");
	try {
		return grammar.parse(text);
	} catch (error) {
		if (!(error instanceof grammar.SyntaxError)) throw error;
		throw invalidQuery(error.expected === null ? error.message : "Failed to parse query");
	}
}

/** Checks the names of fields, which become column names of files and tables. */
function checkNames(names: string[]) {
	const seen = new Set<string>();
	for (const name of names) {
		if (name === "" || [...name].length > 255)
			throw invalidQuery("The name of a field must have 1 to 255 characters: use AS");
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
		// JSON would lose digits of a large integer.
		if (value === null || typeof value === "boolean" || typeof value === "bigint")
			return literal(value);
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
 * Parses the query of an export (docs/exports.md#queries). Its normalised text, `schema.xql_query`,
 * parses to the same query. This also runs in the browser: the console shows the columns of a query
 * while the user types.
 * @throws {InvalidQueryError}
 */
export function parse(text: string): Query {
	checkLength(text);
	const parsed = read(text);
	if (parsed.table !== "events") throw invalidQuery("Query must SELECT FROM events");
	if (parsed.fields.length > MAX_FIELDS)
		throw invalidQuery(`A query can have at most ${MAX_FIELDS} fields`);
	checkSize(
		[...parsed.fields.map(({ expression }) => expression), parsed.where].filter(
			(one) => one !== null,
		),
	);
	const fields = parsed.fields.map((field): Field => {
		const expression = resolve(field.expression);
		const name = field.alias ?? nameOf(expression);
		return { name, kind: kindOf(expression) ?? "text", expression };
	});
	checkNames(fields.map(({ name }) => name));
	const where = parsed.where && resolve(parsed.where);
	const schema = describe(fields, where);
	checkLength(schema.xql_query);
	return { fields, where, schema };
}
