/** The rules for an export's range, model and query (docs/exports.md). */

import { invalid } from "../../http/errors.ts";
import { now } from "../../lib/time.ts";
import { definitionOf, isDatabase } from "../destinations/index.ts";
import type { Grid, Interval } from "../engine/grid.ts";
import { parse } from "../query/query.ts";
import { fieldsOf, shadowedKey } from "../query/rows.ts";
import type { Row } from "./statements.ts";

export function checkRange(start_at: string | null, end_at: string | null) {
	if (start_at !== null && end_at !== null && end_at < start_at)
		throw invalid("end_at", "end_at must not be before start_at.");
}

/** Checks a range that a backfill exports. */
export function checkPast(start: string, end: string) {
	if (start >= end) throw invalid("start_at", "start_at must be before end_at.");
	if (end > now()) throw invalid("end_at", "end_at must not be in the future.");
}

/** The fields that say when windows begin, and the intervals whose windows they move. */
const CLOCKS = {
	time_zone: ["day", "week"],
	hour: ["day", "week"],
	weekday: ["week"],
} as const satisfies { [Field in Exclude<keyof Grid, "interval">]: readonly Interval[] };

const CLOCK_FIELDS = ["time_zone", "hour", "weekday"] as const;

const isMoved = (field: keyof typeof CLOCKS, interval: Interval) =>
	CLOCKS[field].some((one) => one === interval);

/** Returns the fields that another interval resets, because it has none. */
export const unusedClock = (interval: Interval): Partial<Grid> =>
	Object.fromEntries(
		CLOCK_FIELDS.flatMap((field) => (isMoved(field, interval) ? [] : [[field, null]])),
	);

/** @throws 400 if windows of this interval have no time zone, hour or weekday */
export function checkGrid(grid: Grid) {
	for (const field of CLOCK_FIELDS)
		if (grid[field] !== null && !isMoved(field, grid.interval))
			throw invalid(
				field,
				`Only exports with the interval ${CLOCKS[field].join(" or ")} have this field.`,
			);
}

export function parsedQuery(text: string | null) {
	const schema = text === null ? null : parse(text).schema;
	return { xql_query: schema?.xql_query ?? null, schema };
}

type Content = Pick<Row, "model" | "xql_query"> & { destination: { type: string } };

export function checkModel({ model, destination: { type } }: Omit<Content, "xql_query">) {
	const { models } = definitionOf(type) ?? {};
	if (models && !models.includes(model))
		throw invalid("model", `${type} destinations only accept ${models.join(" and ")}.`);
}

/** @throws 400 if the model or the destination doesn't support the query's fields */
export function checkQuery({ model, xql_query, destination: { type } }: Content) {
	if (xql_query === null) return;
	if (model !== "events") throw invalid("xql_query", "Only events can be queried.");
	const { fields } = parse(xql_query);
	const name = shadowedKey(model, fields);
	if (isDatabase(type) && name !== undefined)
		throw invalid(
			"xql_query",
			`The field ${name} must be the column ${name}, because it is part of the key of rows.`,
		);
	const names = fieldsOf(model, fields, isDatabase(type)).map(({ name }) => name);
	const why = definitionOf(type)?.whyNotColumns?.(names);
	if (why) throw invalid("xql_query", why);
}
