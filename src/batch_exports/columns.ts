/** The columns of responses, in statements over the tables of exports. */
import { desc, eq, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Database } from "../db/client.ts";
import {
	batchExportBackfills,
	batchExportDays,
	batchExportRuns,
	batchExports,
} from "../db/schema/batch_exports.ts";
import type { BatchExportRun } from "./shape.ts";

/** The columns of a `BatchExportRun` in `batch_export_runs`. */
export const runColumns = {
	id: batchExportRuns.id,
	status: batchExportRuns.status,
	records_completed: batchExportRuns.records_completed,
	records_total_count: batchExportRuns.records_total_count,
	latest_error: batchExportRuns.latest_error,
	data_interval_start: batchExportRuns.data_interval_start,
	data_interval_end: batchExportRuns.data_interval_end,
	cursor: batchExportRuns.cursor,
	created_at: batchExportRuns.created_at,
	finished_at: batchExportRuns.finished_at,
	last_updated_at: batchExportRuns.last_updated_at,
	batch_export: batchExportRuns.batch_export_id,
	backfill_id: batchExportRuns.backfill_id,
	by: batchExportRuns.by,
	attempt: batchExportRuns.attempt,
};

const LATEST_RUNS = 10;

/** SQL for the newest runs of an export, in a statement over `batch_exports`. */
const latestRuns = (db: Database): SQL<z.infer<typeof BatchExportRun>[]> => {
	const latest = db
		.select()
		.from(batchExportRuns)
		.where(eq(batchExportRuns.batch_export_id, batchExports.id))
		.orderBy(desc(batchExportRuns.id))
		.limit(LATEST_RUNS);
	const fields = Object.entries(runColumns).flatMap(([name, column]) => [
		sql`${name}`,
		sql`latest.${sql.identifier(column.name)}`,
	]);
	return sql`(select json_group_array(json_object(${sql.join(fields, sql`, `)})) from ${latest} as latest)`.mapWith(
		JSON.parse,
	);
};

/** The columns of a `BatchExport`, and `next_end_at`, in a statement over `batch_exports`. */
export const exportColumns = (db: Database) => ({
	id: batchExports.id,
	team_id: batchExports.project_id,
	name: batchExports.name,
	model: batchExports.model,
	destination: batchExports.destination,
	interval: batchExports.interval,
	paused: batchExports.paused,
	created_at: batchExports.created_at,
	last_updated_at: batchExports.last_updated_at,
	last_paused_at: batchExports.last_paused_at,
	start_at: batchExports.start_at,
	end_at: batchExports.end_at,
	xql_query: batchExports.xql_query,
	schema: batchExports.schema,
	next_start_at: batchExports.next_start_at,
	next_end_at: batchExports.next_end_at,
	latest_runs: latestRuns(db).as("latest_runs"),
});

/** The columns of a `BatchExportBackfill`. */
export const backfillColumns = {
	id: batchExportBackfills.id,
	batch_export: batchExportBackfills.batch_export_id,
	start_at: batchExportBackfills.start_at,
	end_at: batchExportBackfills.end_at,
	by: batchExportBackfills.by,
	status: batchExportBackfills.status,
	total_runs: batchExportBackfills.total_runs,
	finished_runs: batchExportBackfills.finished_runs,
	failed_runs: batchExportBackfills.failed_runs,
	created_at: batchExportBackfills.created_at,
	finished_at: batchExportBackfills.finished_at,
	last_updated_at: batchExportBackfills.last_updated_at,
};

/** The columns of a `BatchExportDay`. */
export const dayColumns = {
	day: batchExportDays.day,
	runs: batchExportDays.runs,
	rows: batchExportDays.rows,
	bytes: batchExportDays.bytes,
	failures: batchExportDays.failures,
	seconds: batchExportDays.seconds,
};
