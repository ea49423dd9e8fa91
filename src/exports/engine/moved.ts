/** The windows that an export hands over to another one (docs/exports.md#moving-to-another-destination). */
import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { batchExportRanges, isByArrival } from "../../db/schema/batch_exports.ts";
import { iso } from "../../lib/time.ts";
import type { Range } from "./ranges.ts";
import { hasNotBegun } from "./start_runs.ts";
import { selectFailed, selectMissing } from "./undelivered.ts";
import type { Window } from "./windows.ts";

/** How much of an error is read, because D1 limits a value to 2 MB. */
const MAX_ERROR = 1000;

/** The ids of the rows of two exports. */
type Pair = Record<"from" | "to", number | SQL>;

/**
 * SQL for JSON: what `from` hasn't delivered or begun, and what `to` knows of these windows. `idle`
 * is the id of a run that nothing would start again: it was cancelled or dismissed, or its window has
 * moved away. The same JSON means that nothing has changed that a move depends on.
 */
export function movedWindows(db: Database, { from, to }: Pair) {
	// Windows by arrival don't overlap, so only one can end after this window and begin before.
	const runs = sql`select distinct data_interval_start as start_at, data_interval_end as end_at,
			iif(status = 'Cancelled' or dismissed, batch_export_runs.id, null) as idle
		from moved cross join batch_export_runs indexed by batch_export_runs_window
		where batch_export_id = ${to} and ${isByArrival}
		and data_interval_end > moved.start_at and data_interval_start < moved.end_at
		and data_interval_end <= coalesce((select min(data_interval_end) from batch_export_runs
			where batch_export_id = ${to} and ${isByArrival} and data_interval_end >= moved.end_at), moved.end_at)`;
	// Ranges that only touch become one with the new ones.
	const ranges = sql`select distinct range.start_at, range.end_at, range.latest_error, range.dismissed, range.runs, range.rows, range.bytes
		from moved cross join ${batchExportRanges} as range
		where range.batch_export_id = ${to} and range."by" = 'arrival'
		and range.end_at >= moved.start_at and range.start_at <= moved.end_at
		and range.start_at >= coalesce((select max(start_at) from ${batchExportRanges}
			where batch_export_id = ${to} and "by" = 'arrival' and start_at <= moved.start_at), moved.start_at)`;
	return sql<string>`(with moved as materialized (
			select 'failed' as kind, id, data_interval_start as start_at, data_interval_end as end_at, latest_error
				from (${selectFailed(db, from, { by: "arrival" })})
			union all select 'queued', id, data_interval_start, data_interval_end, null
				from batch_export_runs indexed by batch_export_runs_unfinished
				where finished_at is null and batch_export_id = ${from} and ${hasNotBegun}
			union all select 'missing', null, start_at, end_at, latest_error
				from (${selectMissing(db, from)}))
		select json_object(
			'moved', (select json_group_array(json_array(kind, start_at, end_at, id, substr(latest_error, 1, ${MAX_ERROR})) order by start_at, kind) from moved),
			'runs', (select json_group_array(json_array(start_at, end_at, idle) order by start_at) from (${runs})),
			'ranges', (select json_group_array(json_array(start_at, end_at, latest_error, dismissed, runs, rows, bytes) order by start_at) from (${ranges}))))`;
}

type Moved = Window & {
	kind: "failed" | "queued" | "missing";
	/** null: it has no run. */
	id: string | null;
	latest_error: string | null;
};

type Known = {
	/** Oldest first. */
	moved: Moved[];
	runs: (Window & { idle: string | null })[];
	ranges: Range[];
};

/** Returns the windows in the JSON of `movedWindows`. */
export function readMoved(json: string): Known {
	const known: {
		moved: [Moved["kind"], number, number, string | null, string | null][];
		runs: [number, number, string | null][];
		ranges: [number, number, string | null, number, number, number, number][];
	} = JSON.parse(json);
	return {
		moved: known.moved.map(([kind, start, end, id, latest_error]) => ({
			...{ kind, start: iso(start), end: iso(end), id, latest_error },
		})),
		runs: known.runs.map(([start, end, idle]) => ({ start: iso(start), end: iso(end), idle })),
		ranges: known.ranges.map(([start, end, latest_error, dismissed, runs, rows, bytes]) => ({
			...{ start: iso(start), end: iso(end), latest_error, dismissed: dismissed === 1 },
			...{ runs, rows, bytes },
		})),
	};
}
