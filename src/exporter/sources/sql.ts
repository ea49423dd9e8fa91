import { type SQL, sql } from "drizzle-orm";
import {
	type Expression,
	type Field,
	kindOf,
} from "../../batch_exports/query.ts";
import type { Kind } from "../rows.ts";

/** How a kind's values are held in SQL: numbers as floating point, JSON as its text. */
type Form = "text" | "number" | "boolean" | "json";

const FORMS: Record<Kind, Form> = {
	text: "text",
	integer: "number",
	number: "number",
	boolean: "boolean",
	timestamp: "text",
	date: "text",
	json: "json",
};

/**
 * How a database says what queries need. Everything given and answered is SQL, but for `path` and `value`, which are a
 * query's and are bound. What has no value is null. Each argument is named once: SQL grows with its query, no faster.
 */
type Dialect = {
	column(name: string, kind: Kind): string;
	/** What is in a column at a path: its JSON, and its text, which of a string has no quotes. */
	property(column: string, path: string[]): { json: string; text: string };
	literal(value: string | number): string;
	none(form: Form): string;
	divide(left: string, right: string): string;
	/** The number, or null for infinity and the like. */
	finite(number: string): string;
	/** With this many significant digits; 0 without a sign. */
	numberToText(number: string, digits: number): string;
	/** null for a text that isn't a decimal number as a whole. */
	textToNumber(text: string): string;
	/** The date that a text begins with, from 1900 to 2299, or null. */
	textToDate(text: string): string;
	textToJson(text: string): string;
	length(text: string): string;
	/** Where there is no text, nothing is added. */
	concat(texts: string[]): string;
	coalesce(values: string[]): string;
};

/** The JSON that counts as false. */
const FALSE = `('false', '0', '-0', '0.0', '-0.0', '""')`;

type Call = Extract<Expression, { type: "call" }>;

const NULL: Expression = { type: "literal", value: null };

const formOf = (expression: Expression) => FORMS[kindOf(expression) ?? "text"];

/** How to say an expression in a dialect: as what it is, or made into text, number or JSON. */
function compiler(dialect: Dialect) {
	function compile(expression: Expression, form = formOf(expression)): string {
		const kind = kindOf(expression);
		if (kind === null) return dialect.none(form);
		const own = FORMS[kind];
		if (form === "number" && own !== "number")
			return kind === "text" || kind === "json"
				? dialect.textToNumber(compile(expression, "text"))
				: dialect.none(form);
		if (expression.type === "property") {
			const { column, path } = expression;
			return dialect.property(column, path)[form === "text" ? "text" : "json"];
		}
		// Only the row knows which argument it is, so each is made what is wanted.
		if (expression.type === "call" && expression.name === "if")
			return choose(expression.args, form);
		if (expression.type === "call" && expression.name === "coalesce") {
			const values = expression.args.map((arg) => compile(arg, form));
			return dialect.coalesce(
				form === "number" ? values.map(dialect.finite) : values,
			);
		}
		const value = plain(expression, kind);
		if (form === own || own === "json") return value;
		if (own === "boolean") return `'${value}'`;
		if (own === "number")
			return dialect.numberToText(value, kind === "integer" ? 16 : 15);
		return dialect.textToJson(value);
	}

	function plain(
		expression: Exclude<Expression, { type: "property" }>,
		kind: Kind,
	): string {
		switch (expression.type) {
			case "column":
				return dialect.column(expression.name, kind);
			case "literal":
				return typeof expression.value === "string" ||
					typeof expression.value === "number"
					? dialect.literal(expression.value)
					: String(expression.value);
			case "operation": {
				const left = compile(expression.left, "number");
				const right = compile(expression.right, "number");
				return expression.operator === "/"
					? dialect.divide(left, right)
					: `(${left} ${expression.operator} ${right})`;
			}
			case "call":
				return call(expression);
		}
	}

	function call({ name, args }: Call): string {
		const [first = NULL] = args;
		switch (name) {
			case "toInt":
				return `trunc(${compile(first, "number")})`;
			case "toFloat":
				return compile(first, "number");
			case "length":
				return dialect.length(compile(first, "text"));
			case "toDate":
				return ["number", "boolean"].includes(formOf(first))
					? dialect.none("text")
					: dialect.textToDate(compile(first, "text"));
			case "lower":
			case "upper":
				return `${name}(${compile(first, "text")})`;
			case "concat":
				return dialect.concat(args.map((arg) => compile(arg, "text")));
			default:
				return compile(first, "text");
		}
	}

	function choose(
		[asked = NULL, then = NULL, otherwise = NULL]: Expression[],
		form: Form,
	) {
		return `case when ${condition(asked)} then ${compile(then, form)} else ${compile(otherwise, form)} end`;
	}

	/** There is a value, and it is not false, 0 or the empty text. */
	function condition(expression: Expression): string {
		const form = formOf(expression);
		const value = compile(expression);
		switch (form) {
			case "boolean":
				return value;
			case "number":
				return `${dialect.finite(value)} <> 0`;
			case "text":
				return `${value} <> ''`;
			case "json":
				return `${value} not in ${FALSE}`;
		}
	}

	return compile;
}

/** A JSON array. Its numbers are floating point to SQLite, to which 1 / 2 is 0. */
const arrayOf = (values: (string | number)[]) =>
	`[${values
		.map((value) => JSON.stringify(value))
		.map((json) => (/^-?\d+$/.test(json) ? `${json}.0` : json))
		.join()}]`;

/**
 * SQLite's. All that is bound is in `?1`, one JSON array: D1 takes a hundred parameters, a query may have more. Its
 * subqueries have a `limit`, without which SQLite would write their `v` out wherever it is used.
 */
function d1(values: (string | number)[]): Dialect {
	const bind = (value: string | number) => `(?1->>${values.push(value) - 1})`;
	return {
		column: (name, kind) =>
			kind === "integer" ? `cast(${name} as real)` : name,
		property(column, path) {
			const at = bind(`$.${path.map((key) => JSON.stringify(key)).join(".")}`);
			const json = `nullif(${column}->${at},'null')`;
			return {
				json,
				text: `case json_type(${column},${at}) when 'text' then ${column}->>${at} else ${json} end`,
			};
		},
		literal: bind,
		none: () => "null",
		divide: (left, right) => `(${left} / ${right})`,
		finite: (number) => `mod(${number},9e999)`,
		numberToText: (number, digits) =>
			`(select printf('%.${digits}g',v) from (select ${number} v limit 1) where abs(v)<9e999)`,
		// Compared with a number, a text becomes one if it can without loss.
		textToNumber: (text) =>
			`(select cast(v as real) from (select ${text} v limit 1) where v=cast(v as numeric))`,
		textToDate: (text) =>
			`(select v from (select substr(${text},1,10) v limit 1) where v=date(v) and v between '1900' and '23')`,
		// What comes out of JSON counts as JSON still, and isn't quoted, until it is joined with text.
		textToJson: (text) => `nullif(json_quote(${text}||''),'null')`,
		length: (text) => `cast(length(${text}) as real)`,
		concat: (texts) => `concat(${texts.join()})`,
		coalesce: (values) => `coalesce(${[...values, "null"].join()})`,
	};
}

/** A decimal number, with the white space that SQLite allows around it. */
const NUMBER =
	"^[ \\t-\\r]*([+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?)[ \\t-\\r]*$";

const DATE = "^(?:19|2[0-2])[0-9]{2}-[0-9]{2}-[0-9]{2}";

function clickhouse(params: Record<string, string | number>): Dialect {
	const bind = (value: string | number) => {
		const name = `v${Object.keys(params).length}`;
		params[name] = value;
		return `{${name}:${typeof value === "string" ? "String" : "Float64"}}`;
	};
	const types: Record<Form, string> = {
		text: "String",
		number: "Float64",
		boolean: "Bool",
		json: "String",
	};
	return {
		column(name, kind) {
			switch (kind) {
				case "integer":
					return `toFloat64(${name})`;
				case "json":
					return `nullIf(${name}, '')`;
				case "timestamp":
					return `concat(replaceOne(toString(toDateTime64(${name}, 3, 'UTC')), ' ', 'T'), 'Z')`;
				default:
					return `toString(${name})`;
			}
		},
		property(column, path) {
			const at = [column, ...path.map(bind)].join(", ");
			const json = `nullIf(nullIf(JSONExtractRaw(${at}), ''), 'null')`;
			return {
				json,
				text: `if(JSONType(${at}) = 'String', JSONExtractString(${at}), ${json})`,
			};
		},
		literal: bind,
		none: (form) => `CAST(NULL, 'Nullable(${types[form]})')`,
		divide: (left, right) => `(${left} / nullIf(${right}, 0))`,
		finite: (number) => `ifNotFinite(${number}, NULL)`,
		numberToText: (number, digits) =>
			`printf('%.${digits}g', ifNotFinite(${number}, NULL) + 0)`,
		textToNumber: (text) => `toFloat64OrNull(extract(${text}, '${NUMBER}'))`,
		// A day that isn't is read as another one.
		textToDate: (text) =>
			`nullIf(arrayFirst(v -> toString(toDate32OrNull(v)) = v, [extract(ifNull(${text}, ''), '${DATE}')]), '')`,
		textToJson: (text) => `nullIf(toJSONString(${text}), 'null')`,
		length: (text) => `toFloat64(lengthUTF8(${text}))`,
		concat: (texts) =>
			`concat(${texts.map((text) => `ifNull(${text}, '')`).join(", ")})`,
		coalesce: (values) => `coalesce(${values.join(", ")})`,
	};
}

const list = (fields: Field[], compile: (expression: Expression) => string) =>
	fields
		.map(({ expression }, at) => `${compile(expression)} as c${at}`)
		.join(", ");

/**
 * What to select of the tables `events` or `persons` for these fields, as `c0`, `c1`, … in D1. Answered are JSON as its
 * text, booleans as 0 and 1. The parameter that this binds must be the first of its statement.
 */
export function columnsForD1(fields: Field[]): SQL {
	const values: (string | number)[] = [];
	const [head = "", ...rest] = list(fields, compiler(d1(values))).split("?1");
	return rest.length === 0
		? sql.raw(head)
		: sql`${sql.raw(head)}${arrayOf(values)}${sql.raw(rest.join("?1"))}`;
}

/** The same for ClickHouse, whose query parameters `params` are; JSON answered as its text. */
export function columnsForClickHouse(fields: Field[]) {
	const params: Record<string, string | number> = {};
	return { sql: list(fields, compiler(clickhouse(params))), params };
}
