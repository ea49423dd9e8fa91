import { desc, eq, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Database } from "../db/client.ts";
import {
	BACKFILL_STATUSES,
	batchExportBackfills,
	batchExportDays,
	batchExportLogEntries,
	batchExportRuns,
	batchExports,
	INTERVALS,
	LEVELS,
	MODELS,
	RUN_STATUSES,
} from "../db/schema.ts";
import { check, TYPES } from "../exporter/destinations/config.ts";
import { parse } from "../exporter/query/query.ts";
import { shown } from "../exporter/secrets.ts";
import {
	boolean,
	choice,
	choices,
	moment,
	multilineText,
	name,
	queryMoment,
	rawText,
	timestamp,
} from "../http/fields.ts";
import { documentAs } from "../http/router.ts";
import { checkedBy } from "../http/valid.ts";

/** A run of an export (docs/exports.md#runs). */
export const BatchExportRun = z
	.object({
		id: z.guid(),
		status: z.enum(RUN_STATUSES),
		records_completed: z.int(),
		records_total_count: z.int().nullable(),
		latest_error: z.string().nullable(),
		data_interval_start: timestamp(),
		data_interval_end: timestamp(),
		cursor: z.string().nullable(),
		created_at: timestamp(),
		finished_at: timestamp().nullable(),
		last_updated_at: timestamp(),
		batch_export: z.guid(),
	})
	.meta({ id: "BatchExportRun" });

/** An export (docs/exports.md). */
export const BatchExport = z
	.object({
		id: z.guid(),
		team_id: z.int(),
		name: z.string(),
		model: z.enum(MODELS),
		destination: z.object({
			type: documentAs(z.string(), z.enum(TYPES)),
			config: z.record(z.string(), z.unknown()),
		}),
		interval: z.enum(INTERVALS),
		paused: z.boolean(),
		created_at: timestamp(),
		last_updated_at: timestamp(),
		last_paused_at: timestamp().nullable(),
		start_at: timestamp().nullable(),
		end_at: timestamp().nullable(),
		latest_runs: z.array(BatchExportRun),
		xql_query: z.string().nullable(),
		schema: z
			.object({
				fields: z.array(z.object({ expression: z.string(), alias: z.string() })),
				where: z.string().optional(),
				values: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
				xql_query: z.string(),
			})
			.nullable(),
	})
	.meta({ id: "BatchExport" });

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
		sql.raw(`latest.${column.name}`),
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
	next_end_at: batchExports.next_end_at,
	latest_runs: latestRuns(db).as("latest_runs"),
});

/** The columns of a `BatchExportBackfill`. */
export const backfillColumns = {
	id: batchExportBackfills.id,
	batch_export: batchExportBackfills.batch_export_id,
	start_at: batchExportBackfills.start_at,
	end_at: batchExportBackfills.end_at,
	status: batchExportBackfills.status,
	total_runs: batchExportBackfills.total_runs,
	finished_runs: batchExportBackfills.finished_runs,
	failed_runs: batchExportBackfills.failed_runs,
	created_at: batchExportBackfills.created_at,
	finished_at: batchExportBackfills.finished_at,
	last_updated_at: batchExportBackfills.last_updated_at,
};

/** The columns of a `BatchExportLogEntry`. */
export const entryColumns = {
	id: batchExportLogEntries.id,
	timestamp: batchExportLogEntries.timestamp,
	level: batchExportLogEntries.level,
	message: batchExportLogEntries.message,
	run_id: batchExportLogEntries.run_id,
};

/** The export as responses show it: without its secrets. */
export const toBatchExport = ({
	next_end_at: _,
	...row
}: z.infer<typeof BatchExport> & { next_end_at: string }): z.infer<typeof BatchExport> => ({
	...row,
	destination: shown(row.destination),
});

const fields = z.object({
	name: name(400),
	model: choice(MODELS).optional(),
	destination: z.object({
		type: z.string().trim(),
		config: z.record(z.string(), z.unknown()).optional(),
	}),
	interval: choice(INTERVALS),
	paused: boolean().optional(),
	last_paused_at: moment().nullable().optional(),
	start_at: moment().nullable().optional(),
	end_at: moment().nullable().optional(),
	xql_query: multilineText().check(checkedBy(parse)).nullable().optional(),
});

export const create = fields.extend({
	destination: fields.shape.destination.check(
		checkedBy(({ type, config }) => check(type, config ?? {})),
	),
});

/** The rules of a config are checked once it is merged with the stored one. */
export const update = fields.extend({ destination: fields.shape.destination.partial() }).partial();

/** A destination to test, and the content of the export. */
export const test = create.pick({
	destination: true,
	model: true,
	xql_query: true,
});

export const unpause = update.extend({ backfill: boolean().optional() });

const NAIVE_TIME = /^\d{4}-\d\d-\d\d([T ][\d:.]*)?$/i;

/** A time with an offset from UTC. */
const instant = () =>
	z
		.string()
		.trim()
		.refine(
			(value) => !NAIVE_TIME.test(value),
			"Datetime needs an offset from UTC, like Z or +02:00.",
		)
		.pipe(moment());

export const backfill = update.extend({
	start_at: instant().nullish(),
	end_at: instant().nullish(),
});

export const BackfilledExport = BatchExport.extend({
	backfill_id: z.guid(),
}).meta({ id: "BackfilledBatchExport" });

/** An export that goes on, with the backfill of what was missed if one was asked for. */
export const UnpausedExport = BatchExport.extend({
	backfill_id: z.guid().optional(),
}).meta({ id: "UnpausedBatchExport" });

/** docs/exports.md#runs */
export const BatchExportBackfill = z
	.object({
		id: z.guid(),
		batch_export: z.guid(),
		start_at: timestamp(),
		end_at: timestamp(),
		status: z.enum(BACKFILL_STATUSES),
		total_runs: z.int(),
		finished_runs: z.int(),
		failed_runs: z.int(),
		created_at: timestamp(),
		finished_at: timestamp().nullable(),
		last_updated_at: timestamp(),
	})
	.meta({ id: "BatchExportBackfill" });

export const BatchExportLogEntry = z
	.object({
		id: z.guid(),
		timestamp: timestamp(),
		level: z.enum(LEVELS),
		message: z.string(),
		run_id: z.guid().nullable(),
	})
	.meta({ id: "BatchExportLogEntry" });

/** Not part of the interface: totals of the runs that ended on a day (UTC). */
export const BatchExportDay = z
	.object({
		day: z.iso.date(),
		runs: z.int(),
		rows: z.int(),
		bytes: z.int(),
		failures: z.int(),
		seconds: z.number(),
	})
	.meta({ id: "BatchExportDay" });

/** The columns of a `BatchExportDay`. */
export const dayColumns = {
	day: batchExportDays.day,
	runs: batchExportDays.runs,
	rows: batchExportDays.rows,
	bytes: batchExportDays.bytes,
	failures: batchExportDays.failures,
	seconds: batchExportDays.seconds,
};

export const logFilters = z.object({
	after: queryMoment().optional(),
	before: queryMoment().optional(),
	/** Ignores case. */
	search: rawText().optional(),
	level: choices(LEVELS).optional(),
});

export const runFilters = z.object({
	status: choices(RUN_STATUSES).optional(),
});

export const retry = z.object({
	/** Starts over, even if the run could resume. */
	from: choice(["start"]).optional(),
});

/** The result of a test of a destination. */
export const TestResult = z
	.object({
		success: z.boolean(),
		steps: z.array(z.object({ name: z.string(), error: z.string().nullable() })),
	})
	.meta({ id: "BatchExportTrial" });
