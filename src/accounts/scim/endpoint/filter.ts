import { eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { type Filter, parse } from "scim2-parse-filter";
import { contains, equals, startsWith } from "../../../db/contains.ts";
import { ScimError } from "../../../http/scim_errors.ts";

/*
 * Filters (RFC 7644, section 3.4.2.2) as SQL conditions. Supported are eq, co, sw, and, or, on the
 * attributes that providers use.
 */

const MAX_CHARACTERS = 1_000;
/** How many comparisons a filter can have. Each nests a level, of which D1 allows 100. */
const MAX_COMPARISONS = 20;

type Operator = "eq" | "co" | "sw";

type Value = string | number | boolean | null;

/** Returns the condition of an attribute; undefined if it can't be compared like that. */
export type Attribute = (op: Operator, value: Value) => SQL | undefined;

/** The attributes of a resource that can be filtered, by their names in lower case. */
export type Attributes = Record<string, Attribute>;

/** Text that is compared ignoring case. */
export const ofText =
	(column: SQL | SQLiteColumn): Attribute =>
	(op, value) =>
		typeof value === "string"
			? { eq: equals, co: contains, sw: startsWith }[op](column, value)
			: undefined;

/** Text whose case matters, such as the provider's ids. */
export const ofExactText =
	(column: SQLiteColumn): Attribute =>
	(op, value) => {
		if (typeof value !== "string") return undefined;
		if (op === "eq") return eq(column, value);
		return sql`instr(${column}, ${value}) ${op === "co" ? sql`> 0` : sql`= 1`}`;
	};

/** An id of ours, which is in lower case. */
export const ofId =
	(condition: (id: string) => SQL): Attribute =>
	(op, value) =>
		op === "eq" && typeof value === "string" ? condition(value.toLowerCase()) : undefined;

const invalidFilter = (detail: string) => new ScimError(400, "invalidFilter", detail);

/**
 * Parses a filter. The parser's time grows exponentially with line breaks in an open quotation, so
 * control characters are rejected first.
 */
export function parseFilter(text: string): Filter {
	if (text.length > MAX_CHARACTERS)
		throw invalidFilter(`A filter can have ${MAX_CHARACTERS} characters.`);
	if (/\p{Cc}/u.test(text)) throw invalidFilter("A filter can't have control characters.");
	if ((text.match(/[([]/g) ?? []).length > MAX_COMPARISONS)
		throw invalidFilter("The filter has too many brackets.");
	try {
		return parse(text);
	} catch (error) {
		throw invalidFilter(`The filter is invalid: ${error instanceof Error ? error.message : ""}`);
	}
}

/** The name of an attribute in a path: in lower case, without the URN of its schema. */
export const nameIn = (path: string) => path.toLowerCase().replace(/^urn:[\w:.]+:/, "");

/** Converts a filter to a condition. Throws 400 `invalidFilter`. */
export function toCondition(filter: Filter, attributes: Attributes): SQL {
	let comparisons = 0;
	const convert = (filter: Filter): SQL => {
		if (filter.op === "and" || filter.op === "or")
			return sql`(${sql.join(filter.filters.map(convert), sql.raw(` ${filter.op} `))})`;
		if (filter.op === "[]") return ofValuePath(filter.attrPath, filter.valFilter);
		if (filter.op === "not" || filter.op === "pr" || !("compValue" in filter))
			throw invalidFilter(`The operator ${filter.op} isn't supported.`);
		return compare(filter.attrPath, filter.op, filter.compValue);
	};
	const compare = (path: string, op: string, value: Value): SQL => {
		comparisons += 1;
		if (comparisons > MAX_COMPARISONS)
			throw invalidFilter(`A filter can have ${MAX_COMPARISONS} comparisons.`);
		const name = nameIn(path);
		const attribute = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
		if (!attribute) throw invalidFilter(`The attribute ${path} can't be filtered.`);
		const condition = op === "eq" || op === "co" || op === "sw" ? attribute(op, value) : undefined;
		if (!condition) throw invalidFilter(`${path} can't be compared with ${op} and this value.`);
		return condition;
	};
	/** Converts `emails[type eq "work" and value eq "…"]`: a user has only one address. */
	const ofValuePath = (path: string, filter: Filter): SQL => {
		if (filter.op === "and")
			return sql`(${sql.join(
				filter.filters.map((part) => ofValuePath(path, part)),
				sql` and `,
			)})`;
		if (!("compValue" in filter)) throw invalidFilter(`The filter of ${path} isn't supported.`);
		return compare(`${path}.${filter.attrPath}`, filter.op, filter.compValue);
	};
	return convert(filter);
}

/** Whether a filter requires one value of one of these attributes, so that an index finds it. */
export const isPinned = (filter: Filter, names: string[]): boolean =>
	filter.op === "and"
		? filter.filters.some((part) => isPinned(part, names))
		: filter.op === "eq" && "attrPath" in filter && names.includes(nameIn(filter.attrPath));
