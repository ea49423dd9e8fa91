import { and, desc, eq, gte, isNull, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { alias } from "drizzle-orm/sqlite-core";
import { assertThat } from "../db/assertion.ts";
import { type Database, inList, insertEach } from "../db/client.ts";
import { iso } from "../db/now.ts";
import { batchExportRanges, batchExportRuns, batchExports } from "../db/schema/batch_exports.ts";
import { DAY_MS } from "../http/durations.ts";
import { changesOf, type Range } from "./ranges.ts";

/** How many runs a tick folds. */
const FOLD_BATCH_SIZE = 5000;

/** The newest runs of an export stay: they decide whether it is paused (src/exporter/auto_pause.ts). */
const KEPT_RUNS = 24;

/** Selects runs that ended before a time and are no longer needed, oldest first. */
function selectOld(db: Database, before: string) {
	const runs = batchExportRuns;
	const newest = alias(runs, "newest");
	const ofExport = (table: typeof runs | typeof newest) =>
		eq(table.batch_export_id, batchExports.id);
	const oldestKept = db
		.select({ id: newest.id })
		.from(newest)
		.where(ofExport(newest))
		.orderBy(desc(newest.id))
		.limit(1)
		.offset(KEPT_RUNS - 1);
	/** A run whose window ended after the time, and all runs after it, are newer. So they needn't be read. */
	const firstNew = db
		.select({ id: newest.id })
		.from(newest)
		.where(
			and(ofExport(newest), sql`${newest.by} = 'arrival'`, gte(newest.data_interval_end, before)),
		)
		.orderBy(newest.data_interval_end)
		.limit(1);
	return (
		db
			.select({
				id: runs.id,
				batch_export_id: runs.batch_export_id,
				by: runs.by,
				status: runs.status,
				latest_error: runs.latest_error,
				rows: runs.records_completed,
				bytes: runs.bytes,
				finished_at: runs.finished_at,
				start: runs.data_interval_start,
				end: runs.data_interval_end,
			})
			.from(batchExports)
			// SQLite doesn't reorder a cross join.
			.crossJoin(runs)
			.where(
				and(
					eq(batchExports.deleted, false),
					ofExport(runs),
					sql`${runs.id} < min((${oldestKept}), coalesce((${firstNew}), (${oldestKept})))`,
					lt(runs.finished_at, before),
					isNull(runs.state),
					sql`not exists (select 1 from batch_export_backfills as running
						where running.id = ${runs.backfill_id} and running.status = 'Running')`,
				),
			)
			.orderBy(batchExports.id, runs.id)
			.limit(FOLD_BATCH_SIZE)
	);
}

type Old = Awaited<ReturnType<typeof selectOld>>[number];

/** Returns what a run says about its window. */
const rangeOf = ({ start, end, status, latest_error, rows, bytes }: Old): Range =>
	status === "Completed"
		? { start, end, latest_error: null, runs: 1, rows, bytes }
		: { start, end, latest_error: latest_error ?? status, runs: 0, rows: 0, bytes: 0 };

/** The runs of an export whose windows select the same way, oldest first. */
const seriesOf = (old: Old[]) =>
	[...Map.groupBy(old, ({ batch_export_id, by }) => `${by} ${batch_export_id}`)].flatMap(
		([key, [first, ...others]]) => (first ? [{ key, first, runs: [first, ...others] }] : []),
	);

/** Selects the stored ranges that the runs of the series may touch. */
function selectNear(db: Database, series: ReturnType<typeof seriesOf>) {
	const spans = series.map(({ first, runs }) => ({
		batch_export_id: first.batch_export_id,
		by: first.by,
		start: runs.reduce((least, { start }) => (start < least ? start : least), first.start),
		end: runs.reduce((most, { end }) => (end > most ? end : most), first.end),
	}));
	const ranges = batchExportRanges;
	return db
		.select({
			batch_export_id: ranges.batch_export_id,
			by: ranges.by,
			start: ranges.start_at,
			end: ranges.end_at,
			latest_error: ranges.latest_error,
			runs: ranges.runs,
			rows: ranges.rows,
			bytes: ranges.bytes,
		})
		.from(sql`json_each(${JSON.stringify(spans)})`)
		.crossJoin(ranges)
		.where(
			sql`${ranges.batch_export_id} = value ->> 'batch_export_id' and ${ranges.by} = value ->> 'by'
				and ${ranges.start_at} <= value ->> 'end' and ${ranges.start_at} >= coalesce((
					select max(earlier.start_at) from batch_export_ranges as earlier
					where earlier.batch_export_id = value ->> 'batch_export_id' and earlier."by" = value ->> 'by'
					and earlier.start_at < value ->> 'start'), '')`,
		);
}

/**
 * Folds runs that ended more than `RUN_RETENTION_DAYS` ago: deletes them, and adds their windows to the ranges of their exports.
 * Runs of unfinished backfills, the newest of each export, and those with unfinished output stay.
 */
export async function foldOldRuns({ DB, RUN_RETENTION_DAYS }: Env, at: number) {
	const db = drizzle(DB);
	const old = await selectOld(db, iso(at - Number(RUN_RETENTION_DAYS) * DAY_MS));
	if (old.length === 0) return;
	const series = seriesOf(old);
	const near = Map.groupBy(
		await selectNear(db, series),
		({ batch_export_id, by }) => `${by} ${batch_export_id}`,
	);
	const changes = series.map(({ key, first, runs }) => {
		const stored = (near.get(key) ?? []).map(({ batch_export_id: _, by: __, ...range }) => range);
		const { removed, written } = changesOf(stored, runs.map(rangeOf));
		return { batch_export_id: first.batch_export_id, by: first.by, removed, written };
	});
	const removed = changes.flatMap(({ batch_export_id, by, removed }) =>
		removed.map(({ start }) => [batch_export_id, by, start]),
	);
	const written = changes.flatMap(({ batch_export_id, by, written }) =>
		written.map(({ start, end, ...sums }) => ({
			batch_export_id,
			by,
			start_at: start,
			end_at: end,
			...sums,
		})),
	);
	const ids = old.map(({ id }) => id);
	await db.batch([
		// A run that was retried meanwhile is no longer old, and another tick may have folded the same runs.
		assertThat(
			db,
			sql`(select count(*) from batch_export_runs where ${inList(batchExportRuns.id, ids)}
				and finished_at is not null and state is null) = ${ids.length}`,
			"is_unchanged",
		),
		db.delete(batchExportRuns).where(inList(batchExportRuns.id, ids)),
		db.delete(batchExportRanges).where(
			sql`(batch_export_id, "by", start_at) in (
					select value ->> 0, value ->> 1, value ->> 2 from json_each(${JSON.stringify(removed)}))`,
		),
		insertEach(db, batchExportRanges, written, sql`true`).onConflictDoUpdate({
			target: [batchExportRanges.batch_export_id, batchExportRanges.by, batchExportRanges.start_at],
			set: {
				end_at: sql`excluded.end_at`,
				latest_error: sql`excluded.latest_error`,
				runs: sql`excluded.runs`,
				rows: sql`excluded.rows`,
				bytes: sql`excluded.bytes`,
			},
		}),
	]);
}
