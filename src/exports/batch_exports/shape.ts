import * as z from "zod";
import {
	BACKFILL_STATUSES,
	INTERVALS,
	LEVELS,
	MODELS,
	RUN_STATUSES,
	SELECTIONS,
} from "../../db/schema/batch_exports.ts";
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
} from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { checkedBy } from "../../http/valid.ts";
import { parseConfig, TYPES } from "../destinations/config.ts";
import { shown } from "../destinations/secrets.ts";
import { parse } from "../query/query.ts";

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
		// Not part of the interface (docs/internals/choices.md).
		backfill_id: z.guid().nullable(),
		by: z.enum(SELECTIONS),
		attempt: z.int(),
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

export const toBatchExport = ({
	row_id: _id,
	next_start_at: _start,
	next_end_at: _end,
	...row
}: z.infer<typeof BatchExport> & {
	row_id: number;
	next_start_at: string;
	next_end_at: string;
}): z.infer<typeof BatchExport> => ({ ...row, destination: shown(row.destination) });

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
		checkedBy(({ type, config }) => parseConfig(type, config ?? {})),
	),
});

/** The config is checked after it is merged with the stored one. */
export const update = fields.extend({ destination: fields.shape.destination.partial() }).partial();

export const test = create.pick({ destination: true, model: true, xql_query: true });

export const unpause = update.extend({ backfill: boolean().optional() });

const NAIVE_TIME = /^\d{4}-\d\d-\d\d([T ][\d:.]*)?$/i;

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
	by: choice(SELECTIONS).optional(),
});

export const BackfilledExport = BatchExport.extend({
	backfill_id: z.guid(),
}).meta({ id: "BackfilledBatchExport" });

export const UnpausedExport = BatchExport.extend({
	backfill_id: z.guid().optional(),
}).meta({ id: "UnpausedBatchExport" });

export const BatchExportBackfill = z
	.object({
		id: z.guid(),
		batch_export: z.guid(),
		start_at: timestamp(),
		end_at: timestamp(),
		by: z.enum(SELECTIONS),
		status: z.enum(BACKFILL_STATUSES),
		total_runs: z.int(),
		finished_runs: z.int(),
		failed_runs: z.int(),
		created_at: timestamp(),
		finished_at: timestamp().nullable(),
		last_updated_at: timestamp(),
	})
	.meta({ id: "BatchExportBackfill" });

/** What old runs have delivered or missed (docs/exports.md#old-runs). */
export const BatchExportRange = z
	.object({
		start_at: timestamp(),
		end_at: timestamp(),
		by: z.enum(SELECTIONS),
		latest_error: z.string().nullable(),
		runs: z.int(),
		rows: z.int(),
		bytes: z.int(),
	})
	.meta({ id: "BatchExportRange" });

export const BatchExportLogEntry = z
	.object({
		id: z.guid(),
		timestamp: timestamp(),
		level: z.enum(LEVELS),
		message: z.string(),
		run_id: z.guid().nullable(),
	})
	.meta({ id: "BatchExportLogEntry" });

/** Totals of the runs that ended on a day (UTC). Not part of the interface. */
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

export const logFilters = z.object({
	after: queryMoment().optional(),
	before: queryMoment().optional(),
	search: rawText(200).optional(),
	level: choices(LEVELS).optional(),
});

export const runFilters = z.object({
	status: choices(RUN_STATUSES).optional(),
	kind: z.enum(["scheduled", "backfill"]).optional(),
	after: queryMoment().optional(),
	before: queryMoment().optional(),
	starts_before: queryMoment().optional(),
});

export const rangeFilters = runFilters.pick({ after: true, starts_before: true });

export const backfillFilters = z.object({
	status: choices(BACKFILL_STATUSES).optional(),
	after: queryMoment().optional(),
	before: queryMoment().optional(),
});

export const retry = z.object({ from: choice(["start"]).optional() });
