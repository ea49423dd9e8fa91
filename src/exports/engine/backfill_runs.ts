import { and, eq, gt, isNull, lte, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { type Database, insertWhere, runBatch } from "../../db/client.ts";
import { now } from "../../db/now.ts";
import {
	batchExportBackfills,
	batchExportRanges,
	batchExportRuns,
	batchExports,
	INTERVALS,
	isByArrival,
} from "../../db/schema/batch_exports.ts";
import { pluralize } from "../../lib/plural.ts";
import { logWhere } from "./run_log.ts";
import {
	firstMissing,
	type Interval,
	LENGTHS,
	partsOf,
	type Window,
	windowsIn,
} from "./windows.ts";

/** How many backfills of a project may run at once. */
export const MAX_RUNNING_BACKFILLS = 3;

/** How many runs are compared with a range at once. */
const MAX_COMPARED_RUNS = 1000;

type BatchExport = { row_id: number; team_id: number; interval: Interval };

type Backfill = typeof batchExportBackfills.$inferSelect;

type Selection = Window & Pick<Backfill, "by">;

/** Returns how many windows a range has. By arrival, the boundaries of the grid divide it. */
const countWindows = (interval: Interval, { by, start, end }: Selection) =>
	by === "arrival" ? partsOf(interval, { start, end }) : windowsIn(interval, start, end).total;

const SECONDS = sql.join(
	INTERVALS.map((interval) => sql.raw(`when '${interval}' then ${LENGTHS[interval] / 1000}`)),
	sql` `,
);

/** SQL for the end of the last window of a backfill by event time, whose range may be longer. */
const LAST_END = sql`strftime('%Y-%m-%dT%H:%M:%fZ', running.start_at,
	(running.total_runs * case running.interval ${SECONDS} end) || ' seconds')`;

/**
 * Returns SQL for the id of a running backfill that exports the range; null if there is none. By
 * arrival, a part of the range is enough, because nothing may be exported twice.
 */
function coveringBackfill({ row_id, team_id, interval }: BatchExport, range: Selection) {
	const { by, start, end } = range;
	const { window } = windowsIn(interval, start, end, countWindows(interval, range) - 1);
	const covers =
		by === "arrival"
			? sql`running.start_at < ${end} and running.end_at > ${start}`
			: sql`running.start_at <= ${start} and ${LAST_END} >= ${window.end}`;
	return sql<string | null>`(select running.id from batch_export_backfills as running
		where running.project_id = ${team_id} and running.status = 'Running' and running.batch_export_id = ${row_id}
		and running."by" = ${by} and ${covers} limit 1)`;
}

/**
 * Returns the statements that insert, count and log a backfill, and its first run if it selects by
 * event time. By arrival, `advanceBackfill` finds the first window without a run.
 */
export function beginBackfill(db: Database, batchExport: BatchExport, range: Selection) {
	const { row_id: batch_export_id, team_id, interval } = batchExport;
	const { start, end, by } = range;
	const id = v7();
	const total = countWindows(interval, range);
	const covered_by = coveringBackfill(batchExport, range);
	const first = by === "event" ? windowsIn(interval, start, end).window : undefined;
	const isInserted = sql`exists (select 1 from ${batchExportBackfills} where ${isBackfill({ batch_export_id, id })})`;
	return {
		id,
		covered_by,
		/** SQL condition: no backfill exports the range already, and the project may start another one. */
		isAllowed: sql`${covered_by} is null and (select count(*) from batch_export_backfills as running
			where running.project_id = ${team_id} and running.status = 'Running') < ${MAX_RUNNING_BACKFILLS}`,
		statements: (condition: SQL) =>
			[
				insertWhere(
					db,
					batchExportBackfills,
					{
						id,
						batch_export_id,
						project_id: team_id,
						start_at: start,
						end_at: end,
						by,
						interval,
						next_start_at: first?.end ?? start,
						total_runs: total,
					},
					condition,
				),
				...(first ? [runOf(db, { id, batch_export_id, by }, first, isInserted)] : []),
				count(db, batch_export_id, { backfills: 1, runs: first ? 1 : 0 }, isInserted),
				logWhere(
					db,
					{
						batch_export_id,
						level: "INFO",
						message: `A backfill ${by === "arrival" ? "by arrival " : ""}of ${pluralize(total, "window")} from ${start} to ${end} was started.`,
					},
					isInserted,
				),
			] as const,
	};
}

const isBackfill = ({ batch_export_id, id }: Pick<Backfill, "batch_export_id" | "id">) =>
	and(eq(batchExportBackfills.batch_export_id, batch_export_id), eq(batchExportBackfills.id, id));

/** Counts new backfills and runs of an export, if `condition` is true. */
const count = (
	db: Database,
	batch_export_id: number,
	{ backfills = 0, runs }: { backfills?: number; runs: number },
	condition: SQL,
) =>
	db
		.update(batchExports)
		.set({
			backfills: sql`${batchExports.backfills} + ${backfills}`,
			runs: sql`${batchExports.runs} + ${runs}`,
			last_updated_at: sql`${batchExports.last_updated_at}`,
		})
		.where(and(eq(batchExports.id, batch_export_id), condition));

/** Adds a run to a backfill, if `condition` is true. */
const runOf = (
	db: Database,
	{ id: backfill_id, batch_export_id, by }: Pick<Backfill, "id" | "batch_export_id" | "by">,
	{ start, end, id = v7() }: Window & { id?: string },
	condition: SQL,
) =>
	insertWhere(
		db,
		batchExportRuns,
		{
			id,
			batch_export_id,
			backfill_id,
			by,
			data_interval_start: start,
			data_interval_end: end,
		},
		condition,
	);

/** Returns the next window of a backfill; null if there is none. */
async function nextWindow(db: Database, backfill: Backfill): Promise<Window | null> {
	const { interval, start_at, end_at, next_start_at, total_runs } = backfill;
	if (backfill.by === "arrival") return nextMissing(db, backfill);
	const done = windowsIn(interval, start_at, next_start_at).total;
	return done < total_runs ? windowsIn(interval, start_at, end_at, done).window : null;
}

/** Returns the next window that no run by arrival covers, nor a range that old ones have delivered. */
async function nextMissing(
	db: Database,
	{ batch_export_id, interval, next_start_at, end_at }: Backfill,
) {
	const { data_interval_start: start, data_interval_end: end } = batchExportRuns;
	const ranges = batchExportRanges;
	const select = (isIn: (end: SQLiteColumn) => SQL | undefined, limit: number) =>
		db
			.select({ start, end })
			.from(batchExportRuns)
			.where(and(eq(batchExportRuns.batch_export_id, batch_export_id), isByArrival, isIn(end)))
			.unionAll(
				db
					.select({ start: ranges.start_at, end: ranges.end_at })
					.from(ranges)
					.where(
						and(
							eq(ranges.batch_export_id, batch_export_id),
							eq(ranges.by, "arrival"),
							isNull(ranges.latest_error),
							isIn(ranges.end_at),
						),
					),
			)
			.orderBy(end)
			.limit(limit);
	for (let from = next_start_at; ; ) {
		const [within, across] = await db.batch([
			select((end) => and(gt(end, from), lte(end, end_at)), MAX_COMPARED_RUNS),
			select((end) => gt(end, end_at), 1),
		]);
		const missing = firstMissing(interval, { start: from, end: end_at }, [...within, ...across]);
		const known = within.length < MAX_COMPARED_RUNS ? end_at : (within.at(-1)?.end ?? end_at);
		if (known >= end_at || (missing && missing.start < known)) return missing;
		from = known;
	}
}

/**
 * Adds the next run to a running backfill, or completes it after its last window. Does nothing while
 * a run is unfinished. Concurrent calls add one run to each window.
 */
export async function advanceBackfill(db: Database, of: Pick<Backfill, "batch_export_id" | "id">) {
	const [backfill] = await db.select().from(batchExportBackfills).where(isBackfill(of));
	if (backfill?.status !== "Running") return;
	const { batch_export_id, start_at, end_at, next_start_at } = backfill;
	const window = await nextWindow(db, backfill);
	const run_id = v7();
	const isIdle = and(
		isBackfill(of),
		eq(batchExportBackfills.status, "Running"),
		eq(batchExportBackfills.next_start_at, next_start_at),
		sql`not exists (select 1 from batch_export_runs as open
			where open.batch_export_id = ${batch_export_id} and open.finished_at is null
			and open.backfill_id = ${of.id} and open.id <> ${run_id})`,
	);
	const mayAdvance = sql`exists (select 1 from ${batchExportBackfills} where ${isIdle})`;
	if (window) {
		const isAdded = sql`exists (select 1 from batch_export_runs as added
			where added.batch_export_id = ${batch_export_id} and added.id = ${run_id})`;
		await runBatch(db, {
			// By arrival, the schedule may have added the window in the meantime.
			run: runOf(db, backfill, { ...window, id: run_id }, mayAdvance).onConflictDoNothing(),
			count: count(db, batch_export_id, { runs: 1 }, isAdded),
			backfill: db
				.update(batchExportBackfills)
				.set({
					next_start_at: window.end,
					last_updated_at: sql`${batchExportBackfills.last_updated_at}`,
				})
				.where(isIdle),
		});
		return;
	}
	await runBatch(db, {
		log: logWhere(
			db,
			{
				batch_export_id,
				level: "INFO",
				message: `The backfill from ${start_at} to ${end_at} is complete${backfill.finished_runs > 0 ? "" : ": all of its windows had runs"}.`,
			},
			mayAdvance,
		),
		backfill: db
			.update(batchExportBackfills)
			.set({
				status: "Completed",
				finished_at: now(),
				// By arrival, windows that had a run were left out.
				total_runs: batchExportBackfills.finished_runs,
			})
			.where(isIdle),
	});
}
