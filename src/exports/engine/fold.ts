import { and, desc, eq, getTableColumns, isNull, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { alias } from "drizzle-orm/sqlite-core";
import { assertThat, type Database } from "../../db/client.ts";
import { batchExportRanges, batchExportRuns, batchExports } from "../../db/schema/batch_exports.ts";
import { shorten } from "../../lib/text.ts";
import { DAY_MS, iso, MINUTE_MS } from "../../lib/time.ts";
import { changesOf } from "./ranges.ts";
import { isUndelivered, replaceRanges, type StoredRange } from "./undelivered.ts";

/** How many runs a tick folds. */
const FOLD_BATCH_SIZE = 3000;

/** The newest runs of an export stay: they decide whether it is paused (auto_pause.ts). */
const KEPT_RUNS = 24;

const TURNS = DAY_MS / MINUTE_MS;

/** SQL condition: it is the export's turn. A minute has exports with successive ids. */
function hasTurn(at: number) {
	const turn = Math.floor(at / MINUTE_MS) % TURNS;
	const from = (n: number) => sql`(select max(id) + 1 from batch_exports) * ${n / TURNS}`;
	return sql`${batchExports.id} >= ${from(turn)} and ${batchExports.id} < ${from(turn + 1)}`;
}

/** Returns a UUIDv7 that sorts before all that are made from this time on. */
function firstIdAt(at: number) {
	const hex = at.toString(16).padStart(12, "0");
	return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** Selects old runs of the exports that have their turn, oldest first. */
function selectOld(db: Database, at: number, before: number) {
	const runs = batchExportRuns;
	const newest = alias(runs, "newest");
	const oldestKept = db
		.select({ id: newest.id })
		.from(newest)
		.where(eq(newest.batch_export_id, batchExports.id))
		.orderBy(desc(newest.id))
		.limit(1)
		.offset(KEPT_RUNS - 1);
	return (
		db
			.select({
				id: runs.id,
				batch_export_id: runs.batch_export_id,
				by: runs.by,
				status: runs.status,
				latest_error: runs.latest_error,
				dismissed: sql<number>`not (${isUndelivered})`.as("is_dismissed"),
				rows: runs.records_completed,
				bytes: runs.bytes,
				start: runs.data_interval_start,
				end: runs.data_interval_end,
			})
			.from(batchExports)
			// SQLite doesn't reorder a cross join.
			.crossJoin(runs)
			.where(
				and(
					hasTurn(at),
					eq(batchExports.deleted, false),
					eq(runs.batch_export_id, batchExports.id),
					sql`${runs.id} < min((${oldestKept}), ${firstIdAt(before)})`,
					lt(runs.finished_at, iso(before)),
					isNull(runs.state),
					sql`not exists (select 1 from batch_export_backfills as running
						where running.batch_export_id = ${batchExports.id} and running.id = ${runs.backfill_id}
						and running.status = 'Running')`,
					// Only a retry can export its window as the backfill would have.
					sql`not (${runs.by} = 'event' and ${isUndelivered})`,
				),
			)
			.orderBy(batchExports.id, runs.id)
			.limit(FOLD_BATCH_SIZE)
	);
}

type Old = Awaited<ReturnType<typeof selectOld>>[number];

/** How much of an error is kept, because D1 limits the JSON of all ranges of a tick to 2 MB. */
const MAX_REASON_CHARACTERS = 100;

type Series = Pick<Old, "batch_export_id" | "by">;

const keyOf = ({ batch_export_id, by }: Series) => `${batch_export_id} ${by}`;

function rangeOf({ batch_export_id, by, start, end, status, ...run }: Old): StoredRange {
	const range = { batch_export_id, by, start, end };
	const { latest_error, rows, bytes } = run;
	return status === "Completed"
		? { ...range, latest_error: null, dismissed: false, runs: 1, rows, bytes }
		: {
				...range,
				latest_error: shorten(latest_error ?? status, MAX_REASON_CHARACTERS),
				dismissed: Boolean(run.dismissed),
				runs: 0,
				rows: 0,
				bytes: 0,
			};
}

/** Selects the stored ranges that others may touch: from the last one that begins before them. */
function selectNear(db: Database, series: StoredRange[][]) {
	const spans = series.map((ranges) => ({
		...ranges[0],
		from: Math.min(...ranges.map(({ start }) => Date.parse(start))),
		until: Math.max(...ranges.map(({ end }) => Date.parse(end))),
	}));
	const { start_at, end_at, ...others } = getTableColumns(batchExportRanges);
	return db
		.select({ start: start_at, end: end_at, ...others })
		.from(sql`json_each(${JSON.stringify(spans)})`)
		.crossJoin(batchExportRanges)
		.where(
			sql`${others.batch_export_id} = value ->> 'batch_export_id' and ${others.by} = value ->> 'by'
				and ${start_at} <= value ->> 'until' and ${start_at} >= coalesce((
					select max(earlier.start_at) from batch_export_ranges as earlier
					where earlier.batch_export_id = value ->> 'batch_export_id' and earlier."by" = value ->> 'by'
					and earlier.start_at < value ->> 'from'), value ->> 'from')`,
		);
}

/** Returns the statements that replace runs and ranges. They fail if a run has changed. */
function replace(db: Database, old: Old[], removed: StoredRange[], written: StoredRange[]) {
	const runs = JSON.stringify(old.map(({ batch_export_id, id }) => [batch_export_id, id]));
	const counts = JSON.stringify(
		[...Map.groupBy(old, ({ batch_export_id }) => batch_export_id)].map(([id, { length }]) => [
			id,
			length,
		]),
	);
	const isOld = sql`(batch_export_id, id) in (select value ->> 0, value ->> 1 from json_each(${runs}))`;
	return [
		// A run may have been retried, or folded by another tick.
		assertThat(
			db,
			sql`(select count(*) from batch_export_runs
				where ${isOld} and finished_at is not null and state is null) = ${old.length}`,
			"is_current",
		),
		db.delete(batchExportRuns).where(isOld),
		db
			.update(batchExports)
			.set({
				runs: sql`${batchExports.runs} - (value ->> 1)`,
				last_updated_at: sql`${batchExports.last_updated_at}`,
			})
			.from(sql`json_each(${counts})`)
			.where(sql`${batchExports.id} = value ->> 0`),
		...replaceRanges(db, removed, written),
	] as const;
}

/**
 * Deletes runs that ended more than `RUN_RETENTION_DAYS` ago, and adds their windows to the ranges
 * of their exports (docs/internals/decisions/0007-old-runs-become-ranges.md). Each export has its
 * turn once a day, so that its range and its counter are written once for all runs of a day.
 */
export async function foldOldRuns({ DB, RUN_RETENTION_DAYS }: Env, at: number) {
	const db = drizzle(DB);
	const old = await selectOld(db, at, at - Number(RUN_RETENTION_DAYS) * DAY_MS);
	if (old.length === 0) return;
	const series = Map.groupBy(old.map(rangeOf), keyOf);
	const near = Map.groupBy(await selectNear(db, [...series.values()]), keyOf);
	const changes = [...series].map(([key, ranges]) => changesOf(near.get(key) ?? [], ranges));
	await db.batch(
		replace(
			db,
			old,
			changes.flatMap(({ removed }) => removed),
			changes.flatMap(({ written }) => written),
		),
	);
}
