import { and, eq, isNull, max, type SQL, sql } from "drizzle-orm";
import { type Database, insertWhere } from "../db/client.ts";
import { isUniqueViolation } from "../db/errors.ts";
import { now } from "../db/now.ts";
import { batchExportBackfills, batchExportRuns } from "../db/schema/batch_exports.ts";
import { pluralize } from "../http/plural.ts";
import { logWhere, withLogEntry } from "./run_log.ts";
import { type Interval, type Window, windowsIn } from "./windows.ts";

/** How many backfills of a project may run at once. */
export const MAX_RUNNING_BACKFILLS = 3;

/** SQL condition: the project may start another backfill. */
export const mayStartBackfill = (project_id: number) =>
	sql`(select count(*) from batch_export_backfills as running
		where running.project_id = ${project_id} and running.status = 'Running') < ${MAX_RUNNING_BACKFILLS}`;

type BatchExport = { id: string; team_id: number; interval: Interval };

/** Returns the statements that insert and log a backfill and its first run, if `condition` is true. */
export function beginBackfill(
	db: Database,
	backfill_id: string,
	{ id: batch_export_id, team_id, interval }: BatchExport,
	{ start, end }: Window,
	condition: SQL,
) {
	const { total, window } = windowsIn(interval, start, end);
	const isInserted = sql`exists (select 1 from ${batchExportBackfills} where ${batchExportBackfills.id} = ${backfill_id})`;
	return [
		insertWhere(
			db,
			batchExportBackfills,
			{
				id: backfill_id,
				batch_export_id,
				project_id: team_id,
				start_at: start,
				end_at: end,
				interval,
				total_runs: total,
			},
			condition,
		),
		runOf(db, { id: backfill_id, batch_export_id }, window, isInserted),
		logWhere(
			db,
			{
				batch_export_id,
				level: "INFO",
				message: `A backfill of ${pluralize(total, "window")} from ${start} to ${end} was started.`,
			},
			isInserted,
		),
	] as const;
}

/** Returns the statement that adds a run to a backfill, if `condition` is true. */
const runOf = (
	db: Database,
	{ id: backfill_id, batch_export_id }: { id: string; batch_export_id: string | SQL },
	{ start, end }: Window,
	condition: SQL,
) =>
	insertWhere(
		db,
		batchExportRuns,
		{
			batch_export_id,
			backfill_id,
			data_interval_start: start,
			data_interval_end: end,
		},
		condition,
	);

/**
 * Adds the next run to a running backfill, or completes it after its last window. Does nothing while one of its runs is
 * unfinished. Concurrent calls are safe: each window gets one run.
 */
export async function advanceBackfill(db: Database, id: string) {
	const [[backfill], [last]] = await db.batch([
		db.select().from(batchExportBackfills).where(eq(batchExportBackfills.id, id)),
		db
			.select({ end: max(batchExportRuns.data_interval_end) })
			.from(batchExportRuns)
			.where(eq(batchExportRuns.backfill_id, id)),
	]);
	if (backfill?.status !== "Running") return;
	const { interval, start_at, end_at, total_runs } = backfill;
	const done = windowsIn(interval, start_at, last?.end ?? start_at).total;
	const { window } = windowsIn(interval, start_at, end_at, done);
	const idle = sql`not exists (select 1 from batch_export_runs as open
		where open.batch_export_id = ${backfill.batch_export_id} and open.finished_at is null and open.backfill_id = ${id})
		and exists (select 1 from batch_export_backfills as running where running.id = ${id} and running.status = 'Running')`;
	if (done < total_runs) {
		await db
			.batch([runOf(db, backfill, window, idle)])
			// A concurrent call has added the run.
			.catch((error: unknown) => {
				if (!isUniqueViolation(error, "batch_export_runs.backfill_id")) throw error;
			});
		return;
	}
	await db.batch([
		...withLogEntry(
			db,
			db
				.update(batchExportBackfills)
				.set({ status: "Completed", finished_at: now() })
				.where(
					and(eq(batchExportBackfills.id, id), isNull(batchExportBackfills.finished_at), idle),
				),
			{
				batch_export_id: backfill.batch_export_id,
				level: "INFO",
				message: `The backfill from ${start_at} to ${end_at} is complete.`,
			},
		),
	]);
}
