import { readMoment } from "../../../lib/moment.ts";
import { iso } from "../../../lib/time.ts";
import { type Expression, isLiteral, type Literal } from "../../query/expression.ts";
import type { Filter } from "./source.ts";

/** A statement in D1 can have at most a hundred parameters. A filter has up to two. */
const MAX_FILTERS = 20;

/** Not `person_id`, because missing ones are derived after the rows were read. */
const TEXT_COLUMNS = new Set(["uuid", "event", "distinct_id"]);
const TIME_COLUMNS = new Set(["timestamp", "created_at"]);

/** The years that every database can represent. */
const COMMON_YEARS = /^(?:19[7-9]|20|21)/;

/** Splits a condition into the database's filters and the rest, or null. */
export function pushDown(where: Expression | null) {
	const filters: Filter[] = [];
	const unfiltered: Expression[] = [];
	for (const condition of conjuncts(where)) {
		const filter = filters.length < MAX_FILTERS ? filterOf(condition) : undefined;
		if (filter) filters.push(filter);
		else unfiltered.push(condition);
	}
	const [first = null, ...others] = unfiltered;
	const rest: Expression | null =
		others.length > 0 ? { type: "predicate", name: "and", args: unfiltered } : first;
	return { filters, rest };
}

const conjuncts = (where: Expression | null): Expression[] => {
	if (where === null) return [];
	return where.type === "predicate" && where.name === "and" ? where.args : [where];
};

function filterOf(condition: Expression, negated = false): Filter | undefined {
	if (condition.type === "comparison") {
		const { left, operator, right } = condition;
		if (left.type !== "column" || !isLiteral(right)) return undefined;
		if (TIME_COLUMNS.has(left.name) && !negated)
			return timeFilter(left.name, operator, right.value);
		if (operator === "=" || operator === "!=")
			return textFilter(left.name, [right.value], negated !== (operator === "!="));
		return undefined;
	}
	if (condition.type !== "predicate") return undefined;
	const [value, ...others] = condition.args;
	if (condition.name === "not" && value && !negated) return filterOf(value, true);
	if (condition.name !== "in" || value?.type !== "column") return undefined;
	const literals = others.filter(isLiteral);
	if (literals.length !== others.length) return undefined;
	const values = literals.map((literal) => literal.value);
	return textFilter(value.name, values, negated);
}

function textFilter(column: string, values: Literal[], negated: boolean): Filter | undefined {
	const texts = values.filter((value) => typeof value === "string");
	return TEXT_COLUMNS.has(column) && texts.length === values.length
		? { column, texts, negated }
		: undefined;
}

function timeFilter(column: string, operator: string, value: Literal): Filter | undefined {
	const at = readMoment(typeof value === "string" ? value : "");
	if (at === undefined || !COMMON_YEARS.test(at)) return undefined;
	// Comparisons are in milliseconds, but columns may be more precise.
	const next = iso(Date.parse(at) + 1);
	switch (operator) {
		case "=":
			return { column, from: at, before: next };
		case "<":
			return { column, from: null, before: at };
		case "<=":
			return { column, from: null, before: next };
		case ">":
			return { column, from: next, before: null };
		case ">=":
			return { column, from: at, before: null };
		default:
			return undefined;
	}
}
