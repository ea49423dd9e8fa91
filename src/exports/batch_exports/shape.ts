import * as z from "zod";
import { deletion } from "../../access/deletions.ts";
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
	explain,
	integer,
	moment,
	multilineText,
	name,
	queryMoment,
	rawText,
	text,
	timestamp,
} from "../../http/fields.ts";
import { applyOnly, documentAs } from "../../http/router.ts";
import { checkedBy } from "../../http/valid.ts";
import { readRelativeMoment } from "../../lib/moment.ts";
import { isTimeZone, WEEKDAYS } from "../../lib/zone.ts";
import { changedDestination, destinationOfNew } from "../destinations/document.ts";
import { compressible } from "../destinations/fields.ts";
import { DESTINATIONS, TYPES } from "../destinations/index.ts";
import { r2 } from "../destinations/r2/definition.ts";
import { parseConfig, shown } from "../destinations/secrets.ts";
import { toUndelivered, type UndeliveredRows } from "../engine/undelivered.ts";
import { parse } from "../query/query.ts";

const STATUS_TEXTS = {
	Starting: "waits to start, or has been in progress for less than ten seconds.",
	Running: "is in progress.",
	Completed: "has written all rows, or there were none.",
	Failed: "failed, and you have to fix something; `latest_error` says what.",
	FailedRetryable: "gave up after several attempts.",
	Cancelled: "was cancelled.",
};

const SELECTION_TEXTS = {
	arrival: "what arrived in the window.",
	event: "what happened in the window; persons: who was created.",
};

const LEVEL_TEXTS = {
	DEBUG: "details.",
	INFO: "what happened.",
	WARNING: "what may need your attention.",
	ERROR: "what failed.",
};

const INTERVAL_TEXTS = {
	hour: "from one full hour to the next.",
	day: "from midnight to midnight, or another `hour`.",
	week: "from Monday to Monday, or another `weekday`.",
	"every 5 minutes": "twelve windows an hour.",
	"every 15 minutes": "four windows an hour.",
};

const CLOCK_TEXTS = {
	time_zone:
		"The time zone in which windows of a day or a week begin, such as `Europe/Berlin`; null for UTC. A local day is one window, also if it has 23 or 25 hours.",
	hour: "The hour of the day at which windows of a day or a week begin, from 0 to 23; null for midnight.",
	weekday: "The day on which windows of a week begin; null for Monday.",
};

const MODEL_TEXTS = {
	events: "what happened.",
	persons: "who it happened to, with their properties.",
};

/** The longest name has 30 characters. */
const MAX_TIME_ZONE = 64;

/** A run of an export (docs/exports.md#runs). */
export const BatchExportRun = z
	.object({
		id: z.guid().describe("Identifies the run."),
		status: explain(z.enum(RUN_STATUSES), "The status of the run.", STATUS_TEXTS),
		records_completed: z.int().describe("How many rows have been exported."),
		records_total_count: z
			.int()
			.nullable()
			.describe("How many rows the window has; null before they are counted."),
		latest_error: z
			.string()
			.nullable()
			.describe(
				"Why the run or its latest attempt failed; `Cancelled` if it was cancelled; null if neither happened.",
			),
		data_interval_start: timestamp().describe("The start of the window, which is part of it."),
		data_interval_end: timestamp().describe("The end of the window, which isn't part of it."),
		cursor: z
			.string()
			.nullable()
			.describe("Where a retry would continue, in an internal format; null at the start."),
		created_at: timestamp().describe("When the run was scheduled."),
		finished_at: timestamp().nullable().describe("When the run ended; null if it hasn't."),
		last_updated_at: timestamp().describe("When the run last made progress."),
		batch_export: z.guid().describe("The id of the export."),
		// Not part of the interface (docs/internals/choices.md).
		backfill_id: z
			.guid()
			.nullable()
			.describe("The id of the backfill that the run belongs to; null for a scheduled run."),
		by: explain(z.enum(SELECTIONS), "What the run selects.", SELECTION_TEXTS),
		dismissed: z
			.boolean()
			.describe("Whether somebody said that the window of a failed run needn't be delivered."),
		attempt: z
			.int()
			.describe(
				"How often the run was started: 0 before its first start, more than 1 after a retry or a crash.",
			),
	})
	.meta({ id: "BatchExportRun" });

/** A file of a run in the service's own bucket (docs/exports.md#downloading-files). */
export const BatchExportFile = z
	.object({
		name: z.string().describe("The file's name, which identifies it in the run."),
		rows: z.int().describe("How many rows it has."),
		bytes: z.int().describe("Its size."),
		digest: z
			.string()
			.nullable()
			.describe(
				"The SHA-256 of the file, in hexadecimal digits; null if the run wrote more than 8 GiB before it.",
			),
	})
	.meta({ id: "BatchExportFile" });

/** The run of a one-off export (docs/exports.md#one-off-exports). */
export const OneOffRun = BatchExportRun.extend({
	expires_at: timestamp().describe("When the one-off export, this run and its files are deleted."),
}).meta({ id: "OneOffRun" });

/** An export (docs/exports.md). */
export const BatchExport = z
	.object({
		id: z.guid().describe("Identifies the export."),
		team_id: z.int().describe("The id of the project whose rows are exported."),
		name: z.string().describe("The export's name."),
		model: explain(z.enum(MODELS), "What is exported.", MODEL_TEXTS),
		destination: z
			.object({
				type: documentAs(z.string(), z.enum(TYPES)).describe("The kind of destination."),
				config: z
					.record(z.string(), z.unknown())
					.describe("The destination's settings without its secrets."),
			})
			.describe("Where the rows go."),
		interval: explain(z.enum(INTERVALS), "The length of the windows.", INTERVAL_TEXTS),
		// Not part of the interface (docs/internals/choices.md).
		time_zone: z.string().nullable().describe(CLOCK_TEXTS.time_zone),
		hour: z.int().nullable().describe(CLOCK_TEXTS.hour),
		weekday: z.enum(WEEKDAYS).nullable().describe(CLOCK_TEXTS.weekday),
		paused: z.boolean().describe("Whether scheduled runs are paused."),
		created_at: timestamp().describe("When the export was created."),
		last_updated_at: timestamp().describe("When the export was last changed."),
		last_paused_at: timestamp()
			.nullable()
			.describe("When the export was last paused; null if never."),
		pause_note: z
			.string()
			.nullable()
			.describe(
				"Why the export is paused, in the words of who paused it or of the service; null if they gave no reason, or it isn't paused.",
			),
		start_at: timestamp()
			.nullable()
			.describe("No window begins before this time; null for no limit."),
		end_at: timestamp().nullable().describe("No window ends after this time; null for no limit."),
		latest_runs: z.array(BatchExportRun).describe("The ten newest runs."),
		// Not part of the interface (docs/internals/choices.md).
		undelivered: z
			.object({
				windows: z.int().describe("How many windows; at most 500 failed runs are counted."),
				start_at: timestamp().describe("Where the oldest of them begins."),
				end_at: timestamp().describe("Where the newest of them ends."),
				latest_error: z
					.string()
					.nullable()
					.describe(
						"The error of the run that failed last. If none failed, why the schedule passed the windows over.",
					),
			})
			.nullable()
			.describe(
				"The windows that weren't delivered: their runs failed, or the schedule passed them over. They count until they are delivered or dismissed. null: there are none.",
			),
		xql_query: z
			.string()
			.nullable()
			.describe("The normalized query; null if all columns are exported."),
		schema: z
			.object({
				fields: z
					.array(
						z.object({
							expression: z.string().describe("How the column is computed."),
							alias: z.string().describe("The column's name."),
						}),
					)
					.describe("The columns."),
				where: z.string().optional().describe("The condition; missing if there is none."),
				values: z
					.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
					.describe("The values of the placeholders in expressions."),
				xql_query: z.string().describe("The normalized query."),
			})
			.nullable()
			.describe("The parsed query; null without one."),
		// Not part of the interface (docs/internals/choices.md).
		expires_at: timestamp()
			.nullable()
			.describe(
				"When a one-off export, its run and its files are deleted; null for an export with a schedule.",
			),
		deletion: deletion(),
	})
	.meta({ id: "BatchExport" });

export const toBatchExport = ({
	row_id: _id,
	next_start_at: _start,
	next_end_at: _end,
	...row
}: Omit<z.infer<typeof BatchExport>, "undelivered"> & {
	row_id: number;
	next_start_at: string;
	next_end_at: string;
	undelivered: UndeliveredRows;
}): z.infer<typeof BatchExport> => ({
	...row,
	destination: shown(row.destination),
	undelivered: toUndelivered(row, row.undelivered),
});

const fields = z.object({
	name: name(400).describe("The export's name."),
	model: explain(
		choice(MODELS).optional(),
		"What is exported; `events` by default. `HTTP` destinations only accept events.",
		MODEL_TEXTS,
	),
	destination: z.object({
		type: z.string().trim(),
		config: z.record(z.string(), z.unknown()).optional(),
	}),
	interval: explain(choice(INTERVALS), "The length of the windows.", INTERVAL_TEXTS),
	time_zone: text(MAX_TIME_ZONE)
		.refine(isTimeZone, "Not a time zone. Use a name like Europe/Berlin.")
		.nullable()
		.optional()
		.describe(CLOCK_TEXTS.time_zone),
	hour: integer(0, 23).nullable().optional().describe(CLOCK_TEXTS.hour),
	weekday: choice(WEEKDAYS).nullable().optional().describe(CLOCK_TEXTS.weekday),
	paused: boolean().optional().describe("Whether scheduled runs are paused; false by default."),
	last_paused_at: moment()
		.nullable()
		.optional()
		.describe("When the export was last paused. A backfill with `unpause` starts there."),
	start_at: moment()
		.nullable()
		.optional()
		.describe("No window begins before this time; null for no limit."),
	end_at: moment()
		.nullable()
		.optional()
		.describe("No window ends after this time; null for no limit."),
	xql_query: multilineText()
		.check(checkedBy(parse))
		.nullable()
		.optional()
		.describe(
			"A query that selects and computes the columns of events: `SELECT … FROM events WHERE …`. Null exports all columns.",
		),
});

export const create = fields.extend({
	destination: documentAs(
		fields.shape.destination.check(
			checkedBy(({ type, config }) => parseConfig(type, config ?? {})),
		),
		() =>
			destinationOfNew({
				types: DESTINATIONS,
				prefix: "",
				id: "BatchExportDestination",
				type: "The kind of destination.",
				config: "The destination's settings.",
			}),
	).describe("Where the rows go."),
});

/** The config is checked after it is merged with the stored one. */
export const update = fields
	.extend({
		destination: documentAs(fields.shape.destination.partial(), () =>
			changedDestination({
				types: DESTINATIONS,
				prefix: "",
				id: "BatchExportDestinationUpdate",
				type: "The kind of destination, which can't be changed.",
				config: "The settings to change. Null removes one.",
			}),
		).describe("Where the rows go."),
	})
	.partial();

export const test = create.pick({ destination: true, model: true, xql_query: true });

/** The settings that a test of a stored destination can change. */
export const testChanges = applyOnly(update, Object.keys(test.shape));

const pauseFields = {
	pause_note: text(500)
		.nullable()
		.optional()
		.describe("Why you pause the export, for others to read; at most 500 characters."),
};

export const pause = applyOnly(update.extend(pauseFields), Object.keys(pauseFields));

const unpauseFields = {
	backfill: boolean()
		.optional()
		.describe(
			"Whether to also export what arrived during the pause, whenever it happened. By default, it isn't exported, and its windows count as not delivered; false says that nobody needs them.",
		),
};

export const unpause = applyOnly(update.extend(unpauseFields), Object.keys(unpauseFields));

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

const backfillFields = {
	start_at: instant()
		.nullish()
		.describe(
			"The start of the range, with an offset from UTC. By default one interval before its end.",
		),
	end_at: instant()
		.nullish()
		.describe(
			"The end of the range, with an offset from UTC and not in the future. By default the end of the last complete interval.",
		),
	by: explain(choice(SELECTIONS).optional(), "What to select; `event` by default.", {
		arrival:
			"what arrived in the range, whenever it happened, like scheduled runs. Windows that have such a run already are left out.",
		event: "what happened in the range; persons: who was created.",
	}),
};

/** A time with an offset, or relative to now. */
const pastInstant = () =>
	z.preprocess(
		(value: string) => (typeof value === "string" && readRelativeMoment(value.trim())) || value,
		instant(),
	);

const { file_format, compression, include_events, exclude_events } = r2.config.shape;

/** A one-off export (docs/exports.md#one-off-exports). */
export const once = fields
	.pick({ model: true, xql_query: true })
	.extend({
		start_at: pastInstant().describe(
			"The start of the range, with an offset from UTC, or relative to now, such as `-7d`.",
		),
		end_at: pastInstant()
			.optional()
			.describe("The end of the range, not in the future; now by default."),
		...{ file_format, compression, include_events, exclude_events },
	})
	.check(compressible);

export const filters = z.object({
	one_off: boolean()
		.optional()
		.describe("true: only one-off exports. By default, only exports with a schedule."),
});

export const backfill = applyOnly(update.extend(backfillFields), Object.keys(backfillFields));

export const BackfilledExport = BatchExport.extend({
	backfill_id: z.guid().describe("The id of the backfill that was started."),
}).meta({ id: "BackfilledBatchExport" });

export const UnpausedExport = BatchExport.extend({
	backfill_id: z
		.guid()
		.optional()
		.describe("The id of the backfill that was started; missing if none was."),
}).meta({ id: "UnpausedBatchExport" });

export const BatchExportBackfill = z
	.object({
		id: z.guid().describe("Identifies the backfill."),
		batch_export: z.guid().describe("The id of the export."),
		start_at: timestamp().describe("Where the range begins."),
		end_at: timestamp().describe("Where the range ends."),
		by: explain(z.enum(SELECTIONS), "What the backfill selects.", SELECTION_TEXTS),
		status: explain(z.enum(BACKFILL_STATUSES), "The status of the backfill.", {
			Running: "has runs that haven't ended.",
			Completed: "all runs have ended; some may have failed.",
			Cancelled: "was cancelled.",
		}),
		total_runs: z
			.int()
			.describe(
				"How many windows are in the range. By arrival, windows that had a run are subtracted at the end.",
			),
		finished_runs: z.int().describe("How many runs have ended."),
		failed_runs: z.int().describe("How many of the runs that ended have failed."),
		created_at: timestamp().describe("When the backfill was started."),
		finished_at: timestamp()
			.nullable()
			.describe("When its last run ended; null while it is running."),
		last_updated_at: timestamp().describe("When the backfill last made progress."),
	})
	.meta({ id: "BatchExportBackfill" });

/** The ranges that old runs have delivered or missed (docs/exports.md#old-runs). */
export const BatchExportRange = z
	.object({
		start_at: timestamp().describe("The start of the range, which is part of it."),
		end_at: timestamp().describe("The end of the range, which isn't part of it."),
		by: explain(z.enum(SELECTIONS), "What the runs selected.", SELECTION_TEXTS),
		latest_error: z
			.string()
			.nullable()
			.describe(
				"null: the range was delivered. Otherwise it wasn't, and this is the error of the latest of its runs, or why the schedule passed it over.",
			),
		dismissed: z
			.boolean()
			.describe(
				"Whether a range that wasn't delivered needn't be: its runs were cancelled or dismissed, or a backfill by event time has exported it.",
			),
		runs: z.int().describe("How many completed runs delivered it; 0 if it wasn't delivered."),
		rows: z.int().describe("How many rows these runs wrote."),
		bytes: z.int().describe("The size of these rows as text, before formatting and compression."),
	})
	.meta({ id: "BatchExportRange" });

export const BatchExportLogEntry = z
	.object({
		id: z.guid().describe("Identifies the entry."),
		timestamp: timestamp().describe("When it was written."),
		level: explain(z.enum(LEVELS), "How serious it is.", LEVEL_TEXTS),
		message: z.string().describe("What happened, as text for people."),
		run_id: z
			.guid()
			.nullable()
			.describe("The id of the run that it is about; null if it is about the export."),
	})
	.meta({ id: "BatchExportLogEntry" });

/** Totals of the runs that ended on a day (UTC). Not part of the interface. */
export const BatchExportDay = z
	.object({
		day: z.iso.date().describe("The day, in UTC."),
		runs: z.int().describe("How many runs completed."),
		rows: z.int().describe("How many rows these runs wrote."),
		bytes: z.int().describe("The size of these rows as text, before formatting and compression."),
		failures: z.int().describe("How many runs failed."),
		seconds: z.number().describe("How long all these runs took together."),
	})
	.meta({ id: "BatchExportDay" });

/** The totals of all exports of an organization or a project. */
export const BatchExportTotals = z
	.object({
		days: z.array(BatchExportDay).describe("The days with runs, newest first."),
	})
	.meta({ id: "BatchExportTotals" });

export const logFilters = z.object({
	after: queryMoment().optional().describe("Only entries that were written after this time."),
	before: queryMoment().optional().describe("Only entries that were written before this time."),
	search: rawText(200)
		.optional()
		.describe(
			"Only entries whose message contains this text, in any case. At most 200 characters.",
		),
	level: choices(LEVELS)
		.optional()
		.describe("Only entries of this level, in any case. Can be repeated."),
});

export const runFilters = z.object({
	status: choices(RUN_STATUSES)
		.optional()
		.describe("Only runs with this status, in any case. Can be repeated."),
	kind: z
		.enum(["scheduled", "backfill"])
		.optional()
		.describe("Only runs of the schedule, or only those of backfills."),
	after: queryMoment()
		.optional()
		.describe("Only runs whose window ends after this time, such as `-2d`."),
	before: queryMoment()
		.optional()
		.describe("Only runs whose window ends before this time, such as `-24h`."),
	starts_before: queryMoment()
		.optional()
		.describe(
			"Only runs whose window begins before this time. Together with `after`: the runs whose windows overlap a range. A window that contains this time may be missing if it ends at no boundary of an interval in UTC, and another window ends before it.",
		),
});

export const rangeFilters = z.object({
	after: queryMoment().optional().describe("Only ranges that end after this time."),
	starts_before: queryMoment()
		.optional()
		.describe(
			"Only ranges that begin before this time. Together with `after`: the ranges that overlap a range.",
		),
});

export const backfillFilters = z.object({
	status: choices(BACKFILL_STATUSES)
		.optional()
		.describe("Only backfills with this status, in any case. Can be repeated."),
	after: queryMoment().optional().describe("Only backfills whose range ends after this time."),
	before: queryMoment().optional().describe("Only backfills whose range ends before this time."),
});

export const duplicate = update.pick({ name: true, destination: true }).extend({
	destination: update.shape.destination.describe(
		"Where the rows of the copy go. The `config` is merged over the copied one; with another `type`, nothing is copied.",
	),
	name: name(400).optional().describe("The name of the copy. By default, `(copy)` is added."),
});

export const handOver = z.object({
	to: z
		.guid()
		.describe(
			"The id of the export that continues. It must be paused, and have the same project, model and interval.",
		),
});

export const undelivered = z.object({
	after: instant().optional().describe("Only windows that end after this time."),
	before: instant().optional().describe("Only windows that begin before this time."),
});

/** What a request to export what wasn't delivered has started. */
export const RetriedWindows = z
	.object({
		windows: z
			.int()
			.describe("How many windows are exported now: of failed runs, and those without a run."),
		waiting: z
			.int()
			.describe(
				"How many can't be retried yet, because the unfinished output of their runs is still being removed. Try again in a minute.",
			),
	})
	.meta({ id: "RetriedWindows" });

export const retry = z.object({
	from: choice(["start"])
		.optional()
		.describe("`start` starts over, even if the run could continue."),
});
