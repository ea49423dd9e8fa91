import { kindOf } from "../../../query/expression.ts";
import type { Model } from "../../../query/rows.ts";
import { MAX_PAGE_ROWS, orderOf, weight } from "../bounds.ts";
import type { Filter, Scan } from "../source.ts";
import { dayOf, isAfter, type Order, type Place, parametersOf, textOf } from "./order.ts";

/** Each query reads some thousands of rows too many, so it returns many pages. */
export const ROWS_PER_QUERY = 100 * MAX_PAGE_ROWS;

/** If the rows have more days than this, queries don't list the days. */
export const MAX_DAYS = 100;

type Statement = { sql: string; params: Record<string, unknown> };

/**
 * The copy with the greatest of these values is used: the latest arrival of an event, or the
 * highest version of a person. The other values decide between copies with the same arrival or
 * version.
 */
const VERSIONS: Record<Model, string[]> = {
	events: ["_inserted_at", "timestamp", "created_at", "cityHash64(event, distinct_id)"],
	persons: ["person_version", "_inserted_at", "created_at"],
};

const versionOf = (model: Model) => `tuple(${VERSIONS[model].join(", ")})`;

/** Orders copies with the same version and order. */
const CONTENT: Record<Model, string> = {
	events:
		"cityHash64(properties, coalesce(person_properties, ''), coalesce(toString(person_id), ''))",
	persons: "cityHash64(properties, coalesce(toString(person_id), ''))",
};

/** SQL that parses a parameter with a time. The finest precision of a column is nanoseconds. */
const moment = (name: string) => `parseDateTime64BestEffort({${name}:String}, 9, 'UTC')`;

/** SQL condition: a time is in the window. Inclusive, since an index by day reads less then. */
const isInWindow = (at: string) =>
	`${at} >= ${moment("start")} and ${at} <= ${moment("end")} - toIntervalNanosecond(1)`;

const IS_OF_TEAM = "team_id = {team_id:Int64}";

const IS_INCLUDED = `(empty({include_events:Array(String)}) or has({include_events:Array(String)}, event))
	and not has({exclude_events:Array(String)}, event)`;

const isSelected = (scan: Scan) =>
	[
		IS_OF_TEAM,
		isInWindow(orderOf(scan).at),
		...(scan.model === "events" ? [IS_INCLUDED] : []),
	].join(" and ");

const parametersFor = (scan: Scan) => {
	const { team_id, start, end, include_events, exclude_events } = scan;
	return { team_id, start, end, include_events, exclude_events };
};

/** SQL for a column's value in JSON. */
function selectedColumn(name: string) {
	switch (kindOf({ type: "column", name })) {
		case "json":
			return `nullIf(${name}, '')`;
		case "timestamp":
			return `concat(replaceOne(toString(toDateTime64(${name}, 3, 'UTC')), ' ', 'T'), 'Z')`;
		default:
			return `toString(${name})`;
	}
}

function conditions(filters: Filter[]) {
	const params: Record<string, string | string[]> = {};
	const bind = (value: string | string[]) => {
		const name = `f${Object.keys(params).length}`;
		params[name] = value;
		return name;
	};
	const sql = filters.flatMap((filter) => {
		const { column } = filter;
		if ("texts" in filter)
			return [
				`${filter.negated ? "not " : ""}has({${bind(filter.texts)}:Array(String)}, toString(${column}))`,
				`${column} is not null`,
			];
		const { from, before } = filter;
		return [
			...(from === null ? [] : [`${column} >= ${moment(bind(from))}`]),
			...(before === null ? [] : [`${column} < ${moment(bind(before))}`]),
		];
	});
	return { sql, params };
}

/** A survey's query: the number of rows, whether none has copies, and their days. */
export function surveySql(scan: Scan, order: Order): Statement {
	const { model } = scan;
	const { at, key } = orderOf(scan);
	const params = parametersFor(scan);
	if (model === "persons") {
		const newest = `newest.${VERSIONS.persons.indexOf(at) + 1}`;
		return {
			sql: `select countIf(${isInWindow(newest)}), sum(copies) = count(), []
				from (
					select max(${versionOf(model)}) as newest, count() as copies
					from persons where ${IS_OF_TEAM} group by ${key}
				)`,
			params,
		};
	}
	const day = dayOf(order);
	const days = day ? `groupUniqArray(${MAX_DAYS + 1})(toString(${day}))` : "[]";
	return {
		sql: `select uniqExact(${key}), count() = uniqExact(${key}), ${days} from events where ${isSelected(scan)}`,
		params,
	};
}

/** SQL condition: a row is the copy to use. `selected`: the rows compared for events. */
function isNewest(scan: Scan, selected: string[]) {
	const { model } = scan;
	const { key } = orderOf(scan);
	const copies = model === "events" ? selected : [IS_OF_TEAM];
	return `(${key}, ${versionOf(model)}) in (
		select ${key}, max(${versionOf(model)}) from ${model} where ${copies.join(" and ")} group by ${key})`;
}

export function countSql(scan: Scan, isUnique: boolean): Statement {
	const { key } = orderOf(scan);
	const filters = conditions(scan.filters);
	const selected = [isSelected(scan)];
	const where = [...selected, ...filters.sql, ...(isUnique ? [] : [isNewest(scan, selected)])];
	return {
		sql: `select uniqExact(${key}) from ${scan.model} where ${where.join(" and ")}`,
		params: { ...filters.params, ...parametersFor(scan) },
	};
}

/**
 * Returns the query for the rows after a place: the values of the order's parts, the size of the
 * fields in bytes, and the fields.
 *
 * Copies of an event are compared within the selection, so each window in which a copy arrived has
 * the event once. Copies of a person are compared in the whole project, so only the window in which
 * its highest version arrived has the person.
 */
export function rowsSql(scan: Scan, order: Order, { isUnique, days, values }: Place): Statement {
	const { model, columns } = scan;
	const { key } = orderOf(scan);
	const filters = conditions(scan.filters);
	const day = days && dayOf(order);
	const selected = [isSelected(scan), ...(day ? [`${day} in {days:Array(Date)}`] : [])];
	const where = [
		...selected,
		...filters.sql,
		...(values.length > 0 ? [isAfter(order)] : []),
		...(isUnique ? [] : [isNewest(scan, selected)]),
	];
	const orderBy = isUnique ? order.sql : `${order.sql}, ${CONTENT[model]} limit 1 by ${key}`;
	return {
		sql: `select ${order.parts.map(textOf).join(", ")}, ${weight(scan, (column) => `length(coalesce(${column}, ''))`)}, ${columns.map(selectedColumn).join(", ")}
			from ${model} where ${where.join(" and ")} order by ${orderBy} limit ${ROWS_PER_QUERY}`,
		params: {
			...filters.params,
			...parametersOf(values),
			...parametersFor(scan),
			days: days ?? [],
		},
	};
}
