import type { Model } from "../../rows.ts";
import { MOST_ROWS, orderOf, weight } from "../bounds.ts";
import type { Selection } from "../source.ts";
import { columnsForClickHouse } from "../sql.ts";
import { dayOf, isAfter, type Order, parametersOf, textOf } from "./order.ts";
import type { Place } from "./place.ts";

/** A query answers the rows of many pages, since each query reads some thousands of rows beside those. */
export const ROWS_PER_QUERY = 100 * MOST_ROWS;

/** If rows lie on more days than these, they aren't looked for by day. */
export const MAX_DAYS = 100;

type Statement = { sql: string; params: Record<string, unknown> };

/**
 * What decides which of several copies is the row: the greatest. Of events it is the latest to arrive, of persons the
 * highest version. The other members decide between copies that are alike in that.
 */
const VERSIONS: Record<Model, string[]> = {
	events: [
		"_inserted_at",
		"timestamp",
		"created_at",
		"cityHash64(event, distinct_id)",
	],
	persons: ["person_version", "_inserted_at", "created_at"],
};

const versionOf = (model: Model) => `tuple(${VERSIONS[model].join(", ")})`;

/** Puts copies that are alike in version and order into an order. */
const CONTENT: Record<Model, string> = {
	events:
		"cityHash64(properties, coalesce(person_properties, ''), coalesce(toString(person_id), ''))",
	persons: "cityHash64(properties, coalesce(toString(person_id), ''))",
};

/** A moment in a parameter, as precise as any column. */
const moment = (name: string) =>
	`parseDateTime64BestEffort({${name}:String}, 9, 'UTC')`;

/**
 * The selection's bounds on a moment. The upper bound is inclusive, since for an index by day "before midnight" includes
 * the day that begins then.
 */
const isInWindow = (at: string) =>
	`${at} >= ${moment("start")} and ${at} <= ${moment("end")} - toIntervalNanosecond(1)`;

const IS_OF_TEAM = "team_id = {team_id:Int64}";

const IS_INCLUDED = `(empty({include_events:Array(String)}) or has({include_events:Array(String)}, event))
	and not has({exclude_events:Array(String)}, event)`;

/** The selection's rows, copies among them. */
const isSelected = (selection: Selection) =>
	[
		IS_OF_TEAM,
		isInWindow(orderOf(selection).at),
		...(selection.model === "events" ? [IS_INCLUDED] : []),
	].join(" and ");

const parametersFor = (selection: Selection) => {
	const { team_id, start, end, include_events, exclude_events } = selection;
	return { team_id, start, end, include_events, exclude_events };
};

/** Answers one row: how many rows the selection has, whether none has copies, and the days of the order's first part. */
export function surveySql(selection: Selection, order: Order): Statement {
	const { model } = selection;
	const { at, key } = orderOf(selection);
	const params = parametersFor(selection);
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
		sql: `select uniqExact(${key}), count() = uniqExact(${key}), ${days} from events where ${isSelected(selection)}`,
		params,
	};
}

/**
 * Answers the rows after a place: the values of the order's parts, how many bytes the fields have, and the fields.
 *
 * The copies of an event are looked for among the selection's rows, so each window in which a copy arrived has the event
 * once. Those of a person are looked for among all of the project's, so only that window has the person in which its
 * highest version arrived.
 */
export function rowsSql(
	selection: Selection,
	order: Order,
	{ isUnique, days, values }: Place,
): Statement {
	const { model, fields } = selection;
	const { key } = orderOf(selection);
	const columns = columnsForClickHouse(fields);
	const day = days && dayOf(order);
	const selected = [
		isSelected(selection),
		...(day ? [`${day} in {days:Array(Date)}`] : []),
	];
	const competing = model === "events" ? selected : [IS_OF_TEAM];
	const newest = `(${key}, ${versionOf(model)}) in (
		select ${key}, max(${versionOf(model)}) from ${model} where ${competing.join(" and ")} group by ${key})`;
	const where = [
		...selected,
		...(values.length > 0 ? [isAfter(order)] : []),
		...(isUnique ? [] : [newest]),
	];
	const orderBy = isUnique
		? order.sql
		: `${order.sql}, ${CONTENT[model]} limit 1 by ${key}`;
	return {
		sql: `select ${order.parts.map(textOf).join(", ")}, ${weight(fields, (column) => `length(${column})`)}, ${columns.sql}
			from ${model} where ${where.join(" and ")} order by ${orderBy} limit ${ROWS_PER_QUERY}`,
		params: {
			...columns.params,
			...parametersOf(values),
			...parametersFor(selection),
			days: days ?? [],
		},
	};
}
