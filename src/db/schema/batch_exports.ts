import { sql } from "drizzle-orm";
import {
	customType,
	index,
	integer,
	primaryKey,
	real,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { now } from "../../lib/time.ts";
import { WEEKDAYS } from "../../lib/zone.ts";
import { boolean, counter, created_at, lease, map, moment, updated_at } from "./columns.ts";
import { logContent, logPosition } from "./log.ts";

/** A parsed query of an export. Its expressions have placeholders, whose values are in `values`. */
export type QuerySchema = {
	fields: { expression: string; alias: string }[];
	/** Only if the query has a WHERE clause. */
	where?: string;
	values: Record<string, string | number | boolean>;
	xql_query: string;
};

export const MODELS = ["events", "persons"] as const;

/** The possible lengths of an export's windows. */
export const INTERVALS = ["hour", "day", "week", "every 5 minutes", "every 15 minutes"] as const;

/** When windows of a day or a week begin. null: UTC, midnight, and Monday. */
const clock = () => ({
	time_zone: text(),
	hour: integer(),
	weekday: text({ enum: WEEKDAYS }),
});

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

/** The statuses of runs that failed. */
export const FAILED = ["Failed", "FailedRetryable"] as const;

/** The condition of that index as a literal, because queries must repeat it exactly. */
export const isUnsuccessful = sql.raw(`status in ('${UNSUCCESSFUL.join("', '")}')`);

/**
 * The rows that windows select: those that arrived, or that happened (persons: were created) in
 * them.
 */
export const SELECTIONS = ["arrival", "event"] as const;

/**
 * SQL for the series in which a window has only one run, as a literal, because queries must repeat
 * it exactly: a backfill by event time, or all runs by arrival, whose series is ''.
 */
const uniqueIn = sql.raw(`case "by" when 'arrival' then '' else backfill_id end`);

/** SQL condition: a run selects by arrival. */
export const isByArrival = sql`${uniqueIn} = ''`;

export const BACKFILL_STATUSES = ["Running", "Completed", "Cancelled"] as const;

export const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;

/** The destination of an export's rows (docs/exports.md#destinations). */
export type Destination = { type: string; config: Record<string, unknown> };

/** A file that a run wrote to the service's own bucket. */
export type StoredFile = {
	key: string;
	rows: number;
	bytes: number;
	/** R2's ETag, without quotes: the object has another one after it was replaced. */
	etag: string;
	/** The SHA-256 in hexadecimal digits; null if the run wrote too much to read it back. */
	digest: string | null;
};

const isDeleted = customType<{ data: boolean; driverData: number }>({
	dataType: () => "integer",
	toDriver: Number,
	fromDriver: Boolean,
});

/**
 * No foreign key to the project: running exports must be cleaned up after it is deleted.
 *
 * Trigger `batch_exports_delete`, when an export is marked as deleted: cancels its runs and backfills.
 * Trigger `batch_exports_access`, after a delete: deletes the access controls about the export.
 */
export const batchExports = sqliteTable(
	"batch_exports",
	{
		id: integer().primaryKey(),
		uuid: text().notNull().$defaultFn(v7),
		organization_id: integer().notNull(),
		project_id: integer().notNull(),
		name: text().notNull(),
		model: text({ enum: MODELS }).notNull().default("events"),
		/** Secrets are encrypted one by one. */
		destination: map<Destination>(),
		interval: text({ enum: INTERVALS }).notNull(),
		...clock(),
		paused: boolean().notNull().default(false),
		created_at: created_at(),
		last_updated_at: updated_at(),
		/** Not a text, because it is compared with the ends of runs. */
		last_paused_at: moment(),
		pause_note: text(),
		start_at: text(),
		end_at: text(),
		xql_query: text(),
		schema: text({ mode: "json" }).$type<QuerySchema>(),
		/** 1: it is being removed; below 0: it is kept, and this is minus the id in `deletions`. */
		deleted: isDeleted().notNull().default(false),
		/**
		 * Whether it only exports one range, for people to download. It is paused, because it has no
		 * schedule; `due_at` is when it is deleted, with its files.
		 */
		one_off: boolean().notNull().default(false),
		/**
		 * Where the schedule has come: what arrived before was exported or passed over. The end of the
		 * next scheduled window, and when its run is due.
		 */
		next_start_at: text().notNull(),
		next_end_at: text().notNull(),
		due_at: text().notNull(),
		/** The numbers of runs and backfills, which the statements that insert them also count. */
		runs: counter(),
		backfills: counter(),
	},
	(t) => [
		// Serves the lists of an organization and of a project, and finds one of their exports.
		index("batch_exports_organization")
			.on(t.organization_id, t.uuid, t.project_id)
			.where(sql`not deleted`),
		// Serves the schedule, and finds deleted exports.
		index("batch_exports_due").on(t.deleted, t.due_at).where(sql`not paused or deleted`),
		index("batch_exports_one_off").on(t.due_at).where(sql`one_off`),
	],
);

/** WITHOUT ROWID (in the migration): the primary key is the table itself. */
export const batchExportBackfills = sqliteTable(
	"batch_export_backfills",
	{
		batch_export_id: integer()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		id: text().notNull().$defaultFn(v7),
		project_id: integer().notNull(),
		start_at: text().notNull(),
		end_at: text().notNull(),
		/** The export's interval when the backfill was created, and when its windows begin. */
		interval: text({ enum: INTERVALS }).notNull(),
		...clock(),
		by: text({ enum: SELECTIONS }).notNull().default("event"),
		status: text({ enum: BACKFILL_STATUSES }).notNull().default("Running"),
		/** Where the backfill has come: what is before has a run. */
		next_start_at: text().notNull(),
		total_runs: integer().notNull(),
		/** The number of runs that have ended, and of those that failed, by `batch_export_runs_status`. */
		finished_runs: integer().notNull().default(0),
		failed_runs: integer().notNull().default(0),
		created_at: created_at(),
		finished_at: text(),
		last_updated_at: updated_at(),
	},
	(t) => [
		primaryKey({ columns: [t.batch_export_id, t.id] }),
		index("batch_export_backfills_range").on(t.batch_export_id, t.end_at, t.id),
		index("batch_export_backfills_running")
			.on(t.project_id, t.batch_export_id)
			.where(sql`status = 'Running'`),
	],
);

/**
 * WITHOUT ROWID (in the migration): the primary key is the table itself. No foreign key to the
 * backfill: it would need an index, and a backfill is only deleted with its export.
 *
 * Trigger `batch_export_runs_status`, when a run of a backfill ends or starts again: counts the
 * backfill's ended and failed runs.
 */
export const batchExportRuns = sqliteTable(
	"batch_export_runs",
	{
		batch_export_id: integer()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		id: text().notNull().$defaultFn(v7),
		/** null: a scheduled run. */
		backfill_id: text(),
		status: text({
			enum: RUN_STATUSES,
		})
			.notNull()
			.default("Starting"),
		records_completed: integer().notNull().default(0),
		records_total_count: integer(),
		latest_error: text(),
		/** Whether somebody said that the window of a failed run needn't be delivered. */
		dismissed: boolean().notNull().default(false),
		/** Scheduled runs, and those of backfills by arrival, select by arrival. */
		by: text({ enum: SELECTIONS }).notNull().default("arrival"),
		data_interval_start: moment().notNull(),
		data_interval_end: moment().notNull(),
		/** JSON: the cursor of the last exported row; null if there is none. */
		cursor: text(),
		/** The destination's state, to continue at the cursor or to clean up; null: none. */
		state: text({ mode: "json" }).$type<unknown>(),
		/**
		 * A digest of the query and the destination. If it has changed, the run starts over. null: it
		 * hasn't started, or is complete.
		 */
		fingerprint: text(),
		/** The state with which a retry continues at the cursor. null: it starts over. */
		resume_state: text({ mode: "json" }).$type<unknown>(),
		/** The number of leases, which are Workflow instances. `attempt` in the API. */
		...lease(),
		lease_expires_at: moment(),
		/** The number of consecutive failed attempts without progress. */
		attempts: integer().notNull().default(0),
		/** The size of the exported rows as text. */
		bytes: integer().notNull().default(0),
		/** The number of values that were written as null because their column can't store them. */
		unfit_values: integer().notNull().default(0),
		/**
		 * The files of a completed run in the service's own bucket. null: it writes elsewhere, hasn't
		 * completed, or began before files were recorded.
		 */
		files: text({ mode: "json" }).$type<StoredFile[]>(),
		created_at: moment().notNull().$defaultFn(now),
		/** When it started; a retry sets it again. null after it has ended. */
		started_at: moment(),
		finished_at: moment(),
		last_updated_at: moment().notNull().$defaultFn(now).$onUpdateFn(now),
	},
	(t) => [
		primaryKey({ columns: [t.batch_export_id, t.id] }),
		// Each window runs once, and lists by time have this order.
		uniqueIndex("batch_export_runs_window").on(t.batch_export_id, t.data_interval_end, uniqueIn),
		// Serves the tick, which launches the first of each series, and lists of unfinished runs.
		index("batch_export_runs_unfinished")
			.on(t.finished_at, t.batch_export_id, t.backfill_id, t.id)
			.where(sql`finished_at is null`),
		// Serves lists of failed and cancelled runs.
		index("batch_export_runs_unsuccessful")
			.on(t.batch_export_id, t.status, t.id, t.data_interval_end)
			.where(isUnsuccessful),
		// Serves the tick, which removes unfinished output.
		index("batch_export_runs_unclean")
			.on(t.last_updated_at)
			.where(sql`finished_at is not null and state is not null`),
	],
);

/**
 * The condition for ranges that weren't delivered, and that nobody dismissed, as a literal, because
 * queries must repeat it exactly. Windows of old backfills by event time aren't missing.
 */
export const isMissing = sql.raw(`"by" = 'arrival' and latest_error is not null and not dismissed`);

/**
 * The ranges that old runs delivered and missed, and those that the schedule passed over. They don't
 * overlap (docs/internals/decisions/0007-old-runs-become-ranges.md). WITHOUT ROWID (in the migration).
 */
export const batchExportRanges = sqliteTable(
	"batch_export_ranges",
	{
		batch_export_id: integer()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		by: text({ enum: SELECTIONS }).notNull(),
		start_at: moment().notNull(),
		end_at: moment().notNull(),
		/** null: the range was delivered. Otherwise the latest error of its runs, or why it has none. */
		latest_error: text(),
		/** Whether a range that wasn't delivered needn't be. */
		dismissed: boolean().notNull().default(false),
		/** The number of completed runs, with their rows and bytes. */
		runs: integer().notNull(),
		rows: integer().notNull(),
		bytes: integer().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.batch_export_id, t.by, t.start_at] }),
		// Serves each export that is read. Most have none.
		index("batch_export_ranges_missing").on(t.batch_export_id, t.start_at).where(isMissing),
	],
);

/** Statistics of an export's runs by day (UTC). WITHOUT ROWID (in the migration). */
export const batchExportDays = sqliteTable(
	"batch_export_days",
	{
		batch_export_id: integer()
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
		batch_export_id: integer()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		...logPosition(),
		/** null: the entries are about the export itself. */
		run_id: text(),
		...logContent(),
	},
	(t) => [primaryKey({ columns: [t.batch_export_id, t.position] })],
);
