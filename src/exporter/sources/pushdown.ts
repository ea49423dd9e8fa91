import { readMoment } from "../../http/fields.ts";
import { type Expression, isLiteral, type Literal } from "../query/query.ts";
import type { Filter } from "./source.ts";

/** A statement takes a hundred parameters in D1, and a filter is up to two. */
const MAX_FILTERS = 20;

const TEXT_COLUMNS = new Set(["uuid", "event", "distinct_id", "person_id"]);
const TIME_COLUMNS = new Set(["timestamp", "created_at"]);

/** The years that every database has. */
const COMMON_YEARS = /^(?:19[7-9]|20|21)/;

/**
 * What a table can check itself of a condition, exactly as it would be evaluated, and what is left of it; null: nothing.
 * That is what a condition requires of a text or time column by comparing it with literals.
 */
export function pushDown(where: Expression | null): {
	filters: Filter[];
	rest: Expression | null;
} {
	const filters: Filter[] = [];
	const left: Expression[] = [];
	for (const condition of required(where)) {
		const filter = filters.length < MAX_FILTERS ? filterOf(condition) : undefined;
		if (filter) filters.push(filter);
		else left.push(condition);
	}
	const [first = null, ...others] = left;
	const rest: Expression | null =
		others.length > 0 ? { type: "predicate", name: "and", args: left } : first;
	return { filters, rest };
}

const required = (where: Expression | null): Expression[] => {
	if (where === null) return [];
	return where.type === "predicate" && where.name === "and" ? where.args : [where];
};

function filterOf(condition: Expression, negated = false): Filter | undefined {
	if (condition.type === "comparison") {
		const { left, operator, right } = condition;
		if (left.type !== "column" || !isLiteral(right)) return undefined;
		if (TIME_COLUMNS.has(left.name) && !negated) return during(left.name, operator, right.value);
		if (operator === "=" || operator === "!=")
			return among(left.name, [right.value], negated !== (operator === "!="));
		return undefined;
	}
	if (condition.type !== "predicate") return undefined;
	const [value, ...others] = condition.args;
	if (condition.name === "not" && value && !negated) return filterOf(value, true);
	if (condition.name !== "in" || value?.type !== "column") return undefined;
	const literals = others.filter(isLiteral);
	if (literals.length !== others.length) return undefined;
	return among(
		value.name,
		literals.map((literal) => literal.value),
		negated,
	);
}

function among(column: string, values: Literal[], negated: boolean): Filter | undefined {
	const texts = values.filter((value) => typeof value === "string");
	return TEXT_COLUMNS.has(column) && texts.length === values.length
		? { column, texts, negated }
		: undefined;
}

function during(column: string, operator: string, value: Literal): Filter | undefined {
	const at = readMoment(typeof value === "string" ? value : "");
	if (at === undefined || !COMMON_YEARS.test(at)) return undefined;
	// Columns may be more precise than the milliseconds that are compared.
	const next = new Date(Date.parse(at) + 1).toISOString();
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
