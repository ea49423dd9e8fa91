/** Restoring exports, which stay in their tables while they are deleted. */
import { eq, type SQL, sql } from "drizzle-orm";
import { type Database, insertEach } from "../db/client.ts";
import { batchExportRanges, batchExportRuns, batchExports } from "../db/schema/batch_exports.ts";
import { appendEach } from "../db/stored_log.ts";
import { CANCELLED } from "../exports/batch_exports/statements.ts";
import { gridOf } from "../exports/engine/grid.ts";
import { EXPORT_LOGS } from "../exports/engine/run_log.ts";
import { passedOver } from "../exports/engine/undelivered.ts";
import { describeRestored, resume, WAS_DELETED } from "../exports/engine/windows.ts";

/** SQL condition: the export was deleted with this deletion. */
export const isOf = (deletion_id: number) => sql`${batchExports.deleted} = ${-deletion_id}`;

/**
 * Selects the exports of a deletion, by the index of deleted ones.
 * @param deleted SQL for their `deleted`
 */
export const selectExports = (db: Database, deleted: SQL) =>
	db
		.select({
			row_id: batchExports.id,
			one_off: batchExports.one_off,
			id: batchExports.uuid,
			...gridOf(batchExports),
			paused: batchExports.paused,
			start_at: batchExports.start_at,
			end_at: batchExports.end_at,
			next_start_at: batchExports.next_start_at,
			next_end_at: batchExports.next_end_at,
			due_at: batchExports.due_at,
		})
		.from(batchExports)
		.where(sql`${batchExports.deleted} and ${batchExports.deleted} = ${deleted}`);

type Row = Awaited<ReturnType<typeof selectExports>>[number];

/** Returns the schedule of an export from now on, and the windows that have passed. */
function planOf(row: Row, at: number) {
	// The schedule of a paused export waits anyway; its pause then includes the deletion.
	if (row.paused) return { row, missed: null, due: row };
	// All windows since its last run passed while it was deleted, as they do during a pause.
	const { paused, columns } = resume({ ...row, last_paused_at: row.next_start_at }, row, at);
	return { row, missed: paused, due: columns };
}

/** Returns the statements that restore the exports of a deletion, and what passed meanwhile. */
export function restoreExports(
	db: Database,
	{ deletion_id, rows, at }: { deletion_id: number; rows: Row[]; at: number },
) {
	const plans = rows.map((row) => planOf(row, at));
	const missed = plans.flatMap(({ row, missed }) => (missed ? [{ row, missed }] : []));
	const schedule = plans.map(({ row, due: { next_start_at, next_end_at, due_at } }) => ({
		id: row.row_id,
		...{ next_start_at, next_end_at, due_at },
	}));
	// Their windows weren't delivered either. A run that somebody has cancelled says so.
	const cancelled = sql`${batchExportRuns.batch_export_id} in (select id from batch_exports where deleted and ${isOf(deletion_id)})
		and status = 'Cancelled' and latest_error is not ${CANCELLED.latest_error} and backfill_id is null`;
	return {
		gaps: missed.map(({ row, missed: { start, end, windows } }) => ({
			...{ batch_export_id: row.id, by: "arrival", start_at: start, end_at: end, windows },
		})),
		statements: [
			db
				.update(batchExportRuns)
				.set({
					status: "FailedRetryable",
					latest_error: sql`coalesce(latest_error, ${WAS_DELETED})`,
				})
				.where(cancelled),
			insertEach(db, batchExportRanges, {
				rows: missed.map(({ row, missed }) => ({
					batch_export_id: row.row_id,
					...passedOver(missed, WAS_DELETED),
				})),
			}),
			appendEach(
				db,
				EXPORT_LOGS,
				plans.map(({ row, missed }) => ({
					owner: row.row_id,
					entry: { level: "INFO", message: describeRestored(missed) },
				})),
				sql`true`,
			),
			db
				.update(batchExports)
				.set({
					deleted: false,
					next_start_at: sql`value ->> 'next_start_at'`,
					next_end_at: sql`value ->> 'next_end_at'`,
					due_at: sql`value ->> 'due_at'`,
				})
				.from(sql`json_each(${JSON.stringify(schedule)}) as plan`)
				.where(eq(batchExports.id, sql`value ->> 'id'`)),
		],
	};
}
