/** The windows of exports that weren't delivered (docs/exports.md#what-isnt-delivered). */
import { and, desc, eq, getTableColumns, gt, gte, lt, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { type Database, insertEach } from "../../db/client.ts";
import {
	batchExportRanges,
	batchExportRuns,
	FAILED,
	isMissing,
	isUnsuccessful,
} from "../../db/schema/batch_exports.ts";
import { iso } from "../../lib/time.ts";
import { boundaryAfter, boundaryBefore, type Grid } from "./grid.ts";
import type { Range } from "./ranges.ts";
import { firstMissing, partsOf, type Window } from "./windows.ts";

/** How many failed runs, and how many of the newest ranges of an export are looked at. */
const MAX_RUNS = 500;
const MAX_RANGES = 100;

/** The windows that overlap this time. */
export type Span = { after?: string | undefined; before?: string | undefined };

/**
 * SQL condition on `batch_export_runs`: the run failed, nobody dismissed it, and no later backfill
 * has exported its window. Without the index, SQLite would look through all later runs.
 */
export const isUndelivered = sql`batch_export_runs.status in (${sql.join(
	FAILED.map((status) => sql.raw(`'${status}'`)),
	sql`, `,
)}) and not batch_export_runs.dismissed and not exists (
	select 1 from batch_export_runs as later indexed by batch_export_runs_window
		where later.batch_export_id = batch_export_runs.batch_export_id
		and later.data_interval_end = batch_export_runs.data_interval_end
		and later.data_interval_start <= batch_export_runs.data_interval_start
		and later.id > batch_export_runs.id and later."by" = 'event' and later.status = 'Completed')`;

/** SQL condition: the window of a run overlaps a time. */
export const runsIn = ({ after, before }: Span) =>
	and(
		after ? gt(batchExportRuns.data_interval_end, after) : undefined,
		before ? lt(batchExportRuns.data_interval_start, before) : undefined,
	);

/** A column of a table, in a select that names its index. */
const of = <C extends SQLiteColumn>(column: C) => sql`${column}`.mapWith(column).as(column.name);

/**
 * Selects the failed runs of an export whose windows weren't delivered. They are few.
 * @param by only runs that select by arrival
 */
export const selectFailed = (
	db: Database,
	batch_export_id: SQL | number,
	{ by, ...span }: Span & { by?: "arrival" } = {},
) =>
	db
		.select({
			id: of(batchExportRuns.id),
			start: of(batchExportRuns.data_interval_start),
			end: of(batchExportRuns.data_interval_end),
			latest_error: of(batchExportRuns.latest_error),
			finished_at: of(batchExportRuns.finished_at),
			/** Whether its unfinished output is still being removed. */
			isUnclean: sql<number>`${batchExportRuns.state} is not null`.as("is_unclean"),
		})
		// Otherwise, SQLite would read all runs of the export.
		.from(sql`batch_export_runs indexed by batch_export_runs_unsuccessful`)
		.where(
			and(
				sql`batch_export_runs.batch_export_id = ${batch_export_id}`,
				isUnsuccessful,
				isUndelivered,
				by && sql`batch_export_runs."by" = ${by}`,
				runsIn(span),
			),
		)
		.limit(MAX_RUNS);

/** Selects the newest ranges of an export that weren't delivered, newest first. */
export const selectMissing = (db: Database, batch_export_id: SQL | number, span: Span = {}) =>
	db
		.select({
			start: of(batchExportRanges.start_at),
			end: of(batchExportRanges.end_at),
			latest_error: of(batchExportRanges.latest_error),
		})
		// Otherwise, SQLite would read all ranges of the export.
		.from(sql`batch_export_ranges indexed by batch_export_ranges_missing`)
		.where(
			and(
				sql`batch_export_ranges.batch_export_id = ${batch_export_id}`,
				isMissing,
				span.after ? gt(batchExportRanges.end_at, span.after) : undefined,
				span.before ? lt(batchExportRanges.start_at, span.before) : undefined,
			),
		)
		.orderBy(desc(batchExportRanges.start_at))
		.limit(MAX_RANGES);

/** The windows of an export that weren't delivered, as they are read. Times are milliseconds. */
export type UndeliveredRows = {
	runs: number;
	start: number | null;
	end: number | null;
	/** JSON: when the run that failed last ended, and its error. */
	latest: string | null;
	/** Newest first. */
	ranges: [start: number, end: number, latest_error: string][];
};

/** SQL for the windows of an export that weren't delivered, from the few rows that know of them. */
export const undeliveredIn = (db: Database, batch_export_id: SQL) =>
	sql`(select json_object(
		'runs', count(*), 'start', min(failed.data_interval_start), 'end', max(failed.data_interval_end),
		'latest', max(json_array(failed.finished_at, failed.latest_error)) || '',
		'ranges', (select json_group_array(json_array(missing.start_at, missing.end_at, missing.latest_error))
			from ${selectMissing(db, batch_export_id)} as missing))
		from ${selectFailed(db, batch_export_id)} as failed)`.mapWith(
		(json: string): UndeliveredRows => JSON.parse(json),
	);

/** The windows that weren't delivered: how many, from which to which time, and the last error. */
export type Undelivered = {
	windows: number;
	start_at: string;
	end_at: string;
	latest_error: string | null;
};

/** Returns the windows that weren't delivered, as a backfill would export them; null: none. */
export function toUndelivered(
	grid: Grid,
	{ runs, start, end, latest, ranges }: UndeliveredRows,
): Undelivered | null {
	const missing = ranges.map(([start, end]): Window => ({ start: iso(start), end: iso(end) }));
	const starts = [start, ...ranges.map(([start]) => start)].filter((at) => at !== null);
	const ends = [end, ...ranges.map(([, end]) => end)].filter((at) => at !== null);
	if (starts.length === 0) return null;
	const [, error]: [number?, string?] = latest === null ? [] : JSON.parse(latest);
	return {
		windows: runs + missing.reduce((sum, range) => sum + partsOf(grid, range), 0),
		start_at: iso(Math.min(...starts)),
		end_at: iso(Math.max(...ends)),
		latest_error: error ?? ranges[0]?.[2] ?? null,
	};
}

/** SQL condition: an export's range wasn't delivered. */
const isMissingOf = (batch_export_id: number) =>
	and(eq(batchExportRanges.batch_export_id, batch_export_id), isMissing);

/** Returns the statements that divide the range that wasn't delivered at a time, if there is one. */
function divideAt(db: Database, batch_export_id: number, at: string) {
	const { start_at, end_at } = batchExportRanges;
	const contains = and(isMissingOf(batch_export_id), lt(start_at, at), gt(end_at, at));
	const columns = Object.values(getTableColumns(batchExportRanges)).map((column) =>
		column === start_at ? sql`${Date.parse(at)}` : column,
	);
	const later = sql`select ${sql.join(columns, sql`, `)} from ${batchExportRanges} where ${contains}`;
	return [
		db.insert(batchExportRanges).select(later),
		db.update(batchExportRanges).set({ end_at: at }).where(contains),
	];
}

/** Returns statements, and a condition for the missing ranges in a window after them. */
function missingIn(db: Database, batch_export_id: number, { start, end }: Window) {
	const { start_at } = batchExportRanges;
	return {
		divide: [...divideAt(db, batch_export_id, start), ...divideAt(db, batch_export_id, end)],
		isInside: and(isMissingOf(batch_export_id), gte(start_at, start), lt(start_at, end)),
	};
}

/** Returns the statements that remove what wasn't delivered, because runs of its windows follow. */
export function takeMissing(db: Database, batch_export_id: number, window: Window) {
	const { divide, isInside } = missingIn(db, batch_export_id, window);
	return [...divide, db.delete(batchExportRanges).where(isInside)];
}

/** Returns the statements that dismiss what wasn't delivered. */
export function dismissMissing(db: Database, batch_export_id: number, window: Window) {
	const { divide, isInside } = missingIn(db, batch_export_id, window);
	return [...divide, db.update(batchExportRanges).set({ dismissed: true }).where(isInside)];
}

/** A range of an export. */
export type StoredRange = Range &
	Pick<typeof batchExportRanges.$inferSelect, "batch_export_id" | "by">;

/** Returns the statements that replace ranges: what `changesOf` returned. */
export function replaceRanges(db: Database, removed: StoredRange[], written: StoredRange[]) {
	const starts = JSON.stringify(
		removed.map(({ batch_export_id, by, start }) => [batch_export_id, by, Date.parse(start)]),
	);
	return [
		db.delete(batchExportRanges).where(
			sql`(batch_export_id, "by", start_at) in (
					select value ->> 0, value ->> 1, value ->> 2 from json_each(${starts}))`,
		),
		insertEach(db, batchExportRanges, {
			rows: written.map(({ start, end, ...range }) => ({ ...range, start_at: start, end_at: end })),
		}).onConflictDoUpdate({
			target: [batchExportRanges.batch_export_id, batchExportRanges.by, batchExportRanges.start_at],
			set: Object.fromEntries(
				(["end_at", "latest_error", "dismissed", "runs", "rows", "bytes"] as const).map((name) => [
					name,
					sql.raw(`excluded.${name}`),
				]),
			),
		}),
	] as const;
}

/** Returns the columns of a range for which the schedule makes no runs. */
export const passedOver = ({ start, end }: Window, why: string) => ({
	by: "arrival" as const,
	start_at: start,
	end_at: end,
	latest_error: why,
	runs: 0,
	rows: 0,
	bytes: 0,
});

/** Returns the parts of ranges whose windows overlap a time. */
export const partsIn = <R extends Window>(grid: Grid, ranges: R[], { after, before }: Span): R[] =>
	ranges.flatMap((range) => {
		const from = after === undefined ? range.start : iso(boundaryBefore(grid, Date.parse(after)));
		const until = before === undefined ? range.end : iso(boundaryAfter(grid, Date.parse(before)));
		const start = from > range.start ? from : range.start;
		const end = until < range.end ? until : range.end;
		return start < end ? [{ ...range, start, end }] : [];
	});

/** Returns the first windows into which the boundaries of the grid divide ranges. */
export function windowsOf(grid: Grid, ranges: Window[], limit: number) {
	const windows: Window[] = [];
	for (const { start, end } of ranges)
		for (let at = start; windows.length < limit; ) {
			const next = firstMissing(grid, { start: at, end }, []);
			if (!next) break;
			windows.push(next);
			at = next.end;
		}
	return windows;
}
