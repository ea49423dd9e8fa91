import { eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { type Filter, parse } from "scim2-parse-filter";
import { contains, endsWith, equals, startsWith } from "../../../db/contains.ts";
import { readMoment } from "../../../lib/moment.ts";
import { ScimError } from "../errors.ts";

/* Filters (RFC 7644, section 3.4.2.2) as SQL conditions, on the attributes that providers use. */

const MAX_CHARACTERS = 1_000;
/**
 * How many comparisons a filter can have: D1 allows 100 levels and 100 values. A `not` counts as two,
 * since it adds two levels, and letters of other scripts can need 50.
 */
const MAX_COMPARISONS = 20;
const COMPARISONS_OF_NOT = 2;

type Value = string | number | boolean;

/** An attribute that can be filtered. */
export type Attribute = {
	/** SQL condition: it has a value. */
	isPresent: SQL;
	/** Returns the condition of an operator besides `ne`; undefined if it can't be compared so. */
	compare: (op: string, value: Value) => SQL | undefined;
};

/** The attributes of a resource that can be filtered, by their names in lower case. */
export type Attributes = Record<string, Attribute>;

type Text = SQL | SQLiteColumn;

const ORDER: Record<string, SQL> = { gt: sql`>`, ge: sql`>=`, lt: sql`<`, le: sql`<=` };

const ignoringCase: Record<string, (text: Text, value: string) => SQL> = {
	eq: equals,
	co: contains,
	sw: startsWith,
	ew: endsWith,
};

const exactly: typeof ignoringCase = {
	eq: (text, value) => sql`${text} = ${value}`,
	co: (text, value) => sql`instr(${text}, ${value}) > 0`,
	sw: (text, value) => sql`instr(${text}, ${value}) = 1`,
	ew: (text, value) => sql`substr(${text}, length(${text}) + 1 - length(${value})) = ${value}`,
};

const isNotEmpty = (text: Text) => sql`coalesce(${text}, '') <> ''`;

/** Text that is compared ignoring case. (Its order is that of SQLite, which ignores it in ASCII.) */
export const ofText = (text: Text): Attribute => ({
	isPresent: isNotEmpty(text),
	compare: (op, value) => {
		if (typeof value !== "string") return undefined;
		const order = ORDER[op];
		return order ? sql`lower(${text}) ${order} lower(${value})` : ignoringCase[op]?.(text, value);
	},
});

/** Text whose case matters, such as the provider's ids. */
export const ofExactText = (text: Text): Attribute => ({
	isPresent: isNotEmpty(text),
	compare: (op, value) => {
		if (typeof value !== "string") return undefined;
		const order = ORDER[op];
		return order ? sql`${text} ${order} ${value}` : exactly[op]?.(text, value);
	},
});

/** An id of ours, which is in lower case. */
export const ofId = (column: SQLiteColumn): Attribute => {
	const { isPresent, compare } = ofExactText(column);
	return {
		isPresent,
		compare: (op, value) =>
			op === "eq" && typeof value === "string"
				? eq(column, value.toLowerCase())
				: compare(op, String(value).toLowerCase()),
	};
};

/** A time, which is stored as in responses. */
export const ofMoment = (text: Text): Attribute => ({
	isPresent: isNotEmpty(text),
	compare: (op, value) => {
		const at = readMoment(String(value));
		const order = op === "eq" ? sql`=` : ORDER[op];
		return at && order ? sql`${text} ${order} ${at}` : undefined;
	},
});

export const ofBoolean = (condition: SQL): Attribute => ({
	isPresent: sql`true`,
	compare: (op, value) => {
		const wanted = typeof value === "string" ? value.toLowerCase() === "true" : value;
		return op === "eq" && typeof wanted === "boolean"
			? sql`(${condition}) = ${wanted ? 1 : 0}`
			: undefined;
	},
});

const invalidFilter = (detail: string) => new ScimError(400, "invalidFilter", detail);

const CONTROL = /\p{Cc}/u;

/**
 * Parses a filter. The parser's time grows exponentially with line breaks in an open quotation, so
 * control characters are rejected first.
 */
export function parseFilter(text: string): Filter {
	if (text.length > MAX_CHARACTERS)
		throw invalidFilter(`A filter can have ${MAX_CHARACTERS} characters.`);
	if (CONTROL.test(text)) throw invalidFilter("A filter can't have control characters.");
	if ((text.match(/[([]/g) ?? []).length > MAX_COMPARISONS)
		throw invalidFilter("The filter has too many brackets.");
	try {
		return parse(text);
	} catch (error) {
		throw invalidFilter(`The filter is invalid: ${error instanceof Error ? error.message : ""}`);
	}
}

/** Parses the filter in the path of an operation, of any length. Undefined if it is invalid. */
export function parsePathFilter(text: string): Filter | undefined {
	if (CONTROL.test(text)) return undefined;
	try {
		return parse(text);
	} catch {
		return undefined;
	}
}

/** The name of an attribute in a path: in lower case, without the URN of its schema. */
export const nameIn = (path: string) => path.toLowerCase().replace(/^urn:[\w:.]+:/, "");

const not = (condition: SQL) => sql`not coalesce(${condition}, false)`;

/** Converts a filter to a condition. Throws 400 `invalidFilter`. */
export function toCondition(filter: Filter, attributes: Attributes): SQL {
	let comparisons = 0;
	const count = (added: number) => {
		comparisons += added;
		if (comparisons > MAX_COMPARISONS)
			throw invalidFilter(`A filter can have ${MAX_COMPARISONS} comparisons.`);
	};
	const find = (path: string) => {
		count(1);
		const name = nameIn(path);
		const attribute = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
		if (!attribute) throw invalidFilter(`The attribute ${path} can't be filtered.`);
		return attribute;
	};
	/** @param prefix the attribute whose values are filtered: a user has only one address */
	const convert = (filter: Filter, prefix = ""): SQL => {
		if ("filters" in filter) {
			const parts = filter.filters.map((part) => convert(part, prefix));
			return sql`(${sql.join(parts, sql.raw(` ${filter.op} `))})`;
		}
		if (filter.op === "[]") return convert(filter.valFilter, `${filter.attrPath}.`);
		if (filter.op === "not") {
			count(COMPARISONS_OF_NOT);
			return not(convert(filter.filter, prefix));
		}
		const attribute = find(prefix + filter.attrPath);
		return filter.op === "pr"
			? attribute.isPresent
			: compare(attribute, filter.op, filter.compValue, filter.attrPath);
	};
	const compare = (attribute: Attribute, op: string, value: Value | null, path: string): SQL => {
		if (op === "ne") return not(compare(attribute, "eq", value, path));
		if (value === null && op === "eq") return not(attribute.isPresent);
		const condition = value === null ? undefined : attribute.compare(op, value);
		if (!condition) throw invalidFilter(`${path} can't be compared with ${op} and this value.`);
		return condition;
	};
	return convert(filter);
}

/** Whether a filter requires one value of one of these attributes, so that an index finds it. */
export const isPinned = (filter: Filter, names: string[]): boolean =>
	filter.op === "and"
		? filter.filters.some((part) => isPinned(part, names))
		: filter.op === "eq" && filter.compValue !== null && names.includes(nameIn(filter.attrPath));
