/** The columns of responses, in statements over the tables of exports. */
import { desc, eq, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import { aliased, type Database } from "../../db/client.ts";
import {
	batchExportBackfills,
	batchExportDays,
	batchExportRanges,
	batchExportRuns,
	batchExports,
} from "../../db/schema/batch_exports.ts";
import type { BatchExportRun } from "./shape.ts";

/** The columns of a `BatchExportRun` in `batch_export_runs`, without the export's id. */
const ownRunColumns = {
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
	backfill_id: batchExportRuns.backfill_id,
	by: batchExportRuns.by,
	attempt: batchExportRuns.lease,
};

/** The export's id in responses, in statements over its runs or backfills. */
const batchExport = (id: string) => sql<string>`${id.toLowerCase()}`.as("batch_export");

/** The columns of a `BatchExportRun` of the export with this id. */
export const runColumns = (id: string) => ({ ...ownRunColumns, batch_export: batchExport(id) });

const LATEST_RUNS = 10;

type Run = z.infer<typeof BatchExportRun>;

const MOMENTS = [
	"data_interval_start",
	"data_interval_end",
	"created_at",
	"finished_at",
	"last_updated_at",
] as const;

/** Reads runs from JSON, in which moments are numbers. */
function readRuns(json: string): Run[] {
	const runs = JSON.parse(json);
	for (const run of runs)
		for (const name of MOMENTS)
			if (run[name] !== null) run[name] = ownRunColumns[name].mapFromDriverValue(run[name]);
	return runs;
}

/** SQL for the newest runs of an export, in a statement over `batch_exports`. */
const latestRuns = (db: Database): SQL<Run[]> => {
	const latest = db
		.select()
		.from(batchExportRuns)
		.where(eq(batchExportRuns.batch_export_id, batchExports.id))
		.orderBy(desc(batchExportRuns.id))
		.limit(LATEST_RUNS);
	const fields = Object.entries(ownRunColumns).flatMap(([name, column]) => [
		sql`${name}`,
		sql`latest.${sql.identifier(column.name)}`,
	]);
	fields.push(sql`'batch_export'`, sql`${batchExports.uuid}`);
	return sql`(select json_group_array(json_object(${sql.join(fields, sql`, `)})) from ${latest} as latest)`.mapWith(
		readRuns,
	);
};

/** The columns of a `BatchExport`, with the row's id and its next window, in a statement over `batch_exports`. */
export const exportColumns = (db: Database) => ({
	id: aliased(batchExports.uuid, "id"),
	row_id: aliased(batchExports.id, "row_id"),
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

/** The columns of a `BatchExportBackfill` of the export with this id. */
export const backfillColumns = (id: string) => ({
	id: batchExportBackfills.id,
	batch_export: batchExport(id),
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
});

/** The columns of a `BatchExportRange`. */
export const rangeColumns = {
	start_at: batchExportRanges.start_at,
	end_at: batchExportRanges.end_at,
	by: batchExportRanges.by,
	latest_error: batchExportRanges.latest_error,
	runs: batchExportRanges.runs,
	rows: batchExportRanges.rows,
	bytes: batchExportRanges.bytes,
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
