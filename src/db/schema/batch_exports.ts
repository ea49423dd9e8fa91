import { sql } from "drizzle-orm";
import {
	index,
	integer,
	primaryKey,
	real,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { QuerySchema } from "../query_schema.ts";
import { boolean, counter, created_at, id, map, updated_at } from "./columns.ts";
import { logContent, logPosition } from "./log.ts";

export const MODELS = ["events", "persons"] as const;

/** The possible lengths of an export's windows. */
export const INTERVALS = ["hour", "day", "week", "every 5 minutes", "every 15 minutes"] as const;

export const RUN_STATUSES = [
	"Starting",
	"Running",
	"Completed",
	"Failed",
	"FailedRetryable",
	"Cancelled",
] as const;

/** Few runs have these statuses, so an index of only these costs little. */
export const UNSUCCESSFUL: string[] = ["Failed", "FailedRetryable", "Cancelled"];

/** The condition of that index as a literal, because queries must repeat it exactly. */
export const isUnsuccessful = sql.raw(`status in ('${UNSUCCESSFUL.join("', '")}')`);

/** What windows select: the rows that arrived in them, or those that happened in them (persons: were created). */
export const SELECTIONS = ["arrival", "event"] as const;

/** The condition of the index of runs by arrival as a literal, because queries must repeat it exactly. */
export const isByArrival = sql.raw(`"by" = 'arrival'`);

export const BACKFILL_STATUSES = ["Running", "Completed", "Cancelled"] as const;

export const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;

/** The destination of an export's rows (docs/exports.md#destinations). */
export type Destination = { type: string; config: Record<string, unknown> };

/** No foreign key to the project: running exports must be cleaned up after it is deleted. */
export const batchExports = sqliteTable(
	"batch_exports",
	{
		id: id(),
		organization_id: text().notNull(),
		project_id: integer().notNull(),
		name: text().notNull(),
		model: text({ enum: MODELS }).notNull().default("events"),
		/** Secrets are encrypted one by one. */
		destination: map<Destination>(),
		interval: text({ enum: INTERVALS }).notNull(),
		paused: boolean().notNull().default(false),
		created_at: created_at(),
		last_updated_at: updated_at(),
		last_paused_at: text(),
		start_at: text(),
		end_at: text(),
		xql_query: text(),
		schema: text({ mode: "json" }).$type<QuerySchema>(),
		deleted: boolean().notNull().default(false),
		/**
		 * Where the schedule has come: what arrived before was exported or passed over. The end of the next scheduled window, and
		 * when its run is due.
		 */
		next_start_at: text().notNull(),
		next_end_at: text().notNull(),
		due_at: text().notNull(),
		/** The number of runs, in total and by status; maintained by triggers. */
		runs: counter(),
		starting_runs: counter(),
		running_runs: counter(),
		completed_runs: counter(),
		failed_runs: counter(),
		failed_retryable_runs: counter(),
		cancelled_runs: counter(),
		/**
		 * The number of backfills, and the number of days on which runs ended; maintained by triggers.
		 */
		backfills: counter(),
		days: counter(),
	},
	(t) => [
		index("batch_exports_organization").on(t.organization_id, t.deleted, t.id),
		index("batch_exports_project").on(t.project_id, t.deleted, t.id),
		index("batch_exports_due").on(t.due_at).where(sql`not paused and not deleted`),
		index("batch_exports_deleted").on(t.id).where(sql`deleted`),
	],
);

export const batchExportBackfills = sqliteTable(
	"batch_export_backfills",
	{
		id: id(),
		batch_export_id: text()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		project_id: integer().notNull(),
		start_at: text().notNull(),
		end_at: text().notNull(),
		/** The export's interval when the backfill was created. */
		interval: text({ enum: INTERVALS }).notNull(),
		by: text({ enum: SELECTIONS }).notNull().default("event"),
		status: text({ enum: BACKFILL_STATUSES }).notNull().default("Running"),
		total_runs: integer().notNull(),
		/** The number of runs that have ended, and how many of them failed; maintained by triggers. */
		finished_runs: integer().notNull().default(0),
		failed_runs: integer().notNull().default(0),
		created_at: created_at(),
		finished_at: text(),
		last_updated_at: updated_at(),
	},
	(t) => [
		index("batch_export_backfills_export").on(t.batch_export_id, t.id),
		index("batch_export_backfills_status").on(t.batch_export_id, t.status, t.id),
		index("batch_export_backfills_range").on(t.batch_export_id, t.end_at, t.id),
		index("batch_export_backfills_status_range").on(t.batch_export_id, t.status, t.end_at, t.id),
		index("batch_export_backfills_running")
			.on(t.project_id, t.last_updated_at)
			.where(sql`status = 'Running'`),
	],
);

export const batchExportRuns = sqliteTable(
	"batch_export_runs",
	{
		id: id(),
		batch_export_id: text()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		/** null: a scheduled run. */
		backfill_id: text().references(() => batchExportBackfills.id, {
			onDelete: "cascade",
		}),
		status: text({
			enum: RUN_STATUSES,
		})
			.notNull()
			.default("Starting"),
		records_completed: integer().notNull().default(0),
		records_total_count: integer(),
		latest_error: text(),
		/** Scheduled runs, and those of backfills by arrival, select by arrival. */
		by: text({ enum: SELECTIONS }).notNull().default("arrival"),
		data_interval_start: text().notNull(),
		data_interval_end: text().notNull(),
		/** JSON: the cursor of the last exported row; null if there is none. */
		cursor: text(),
		/**
		 * The state that the destination needs to continue at the cursor, or to clean up; null if it
		 * needs none.
		 */
		state: text({ mode: "json" }).$type<unknown>(),
		/**
		 * A digest of the query and the destination. If it has changed, the run starts over. null: it
		 * hasn't started.
		 */
		fingerprint: text(),
		/**
		 * After the run has ended, the state with which a retry continues at the cursor. null: a retry
		 * starts over.
		 */
		resume_state: text({ mode: "json" }).$type<unknown>(),
		/** Whether a workflow instance was started for the current attempt. */
		launched: boolean().notNull().default(false),
		/** The number of started workflow instances. Only the latest may write to this row. */
		attempt: integer().notNull().default(0),
		/**
		 * The number of consecutive failed attempts without progress, and when the next attempt is due;
		 * null if none is due.
		 */
		tries: integer().notNull().default(0),
		next_try_at: text(),
		/** The size of the exported rows as text. */
		bytes: integer().notNull().default(0),
		/** The number of values that were written as null because their column can't store them. */
		unfit_values: integer().notNull().default(0),
		created_at: created_at(),
		/** When it started; a retry sets it again. */
		started_at: text(),
		finished_at: text(),
		last_updated_at: updated_at(),
	},
	(t) => [
		uniqueIndex("batch_export_runs_by_arrival")
			.on(t.batch_export_id, t.data_interval_end)
			.where(isByArrival),
		uniqueIndex("batch_export_runs_backfill").on(t.backfill_id, t.data_interval_end),
		index("batch_export_runs_export").on(t.batch_export_id, t.id),
		index("batch_export_runs_status").on(t.batch_export_id, t.status, t.id),
		index("batch_export_runs_window").on(t.batch_export_id, t.data_interval_end, t.id),
		index("batch_export_runs_unsuccessful")
			.on(t.batch_export_id, t.status, t.data_interval_end, t.id)
			.where(isUnsuccessful),
		index("batch_export_runs_open").on(t.batch_export_id, t.id).where(sql`finished_at is null`),
		index("batch_export_runs_driven").on(t.last_updated_at).where(sql`finished_at is null`),
		index("batch_export_runs_unclean")
			.on(t.last_updated_at)
			.where(sql`finished_at is not null and state is not null`),
	],
);

/** Statistics of an export's runs, by the day on which they ended (UTC). */
export const batchExportDays = sqliteTable(
	"batch_export_days",
	{
		batch_export_id: text()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		/** YYYY-MM-DD. */
		day: text().notNull(),
		/** The number of completed runs, with their rows and bytes. */
		runs: integer().notNull().default(0),
		rows: integer().notNull().default(0),
		bytes: integer().notNull().default(0),
		/** The number of failed runs. */
		failures: integer().notNull().default(0),
		/** The total duration of completed and failed runs. */
		seconds: real().notNull().default(0),
	},
	(t) => [primaryKey({ columns: [t.batch_export_id, t.day] })],
);

/** The logs of exports and their runs. Without row ids, so that a row is written once. */
export const batchExportLogs = sqliteTable(
	"batch_export_logs",
	{
		batch_export_id: text()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		...logPosition(),
		/** null: the entries are about the export itself. */
		run_id: text(),
		...logContent(),
	},
	(t) => [primaryKey({ columns: [t.batch_export_id, t.position] })],
);
