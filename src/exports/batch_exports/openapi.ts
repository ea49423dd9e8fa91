import { describe, type OpenApi } from "../../http/openapi.ts";
import { documentAs } from "../../http/router.ts";
import { TestResult } from "../../outbound/steps.ts";
import { Destination, DestinationUpdate } from "../destinations/openapi.ts";
import type batchExports from "./routes.ts";
import {
	BackfilledExport,
	BatchExport,
	BatchExportBackfill,
	BatchExportDay,
	BatchExportLogEntry,
	BatchExportRange,
	BatchExportRun,
	backfill,
	backfillFilters,
	create,
	logFilters,
	rangeFilters,
	retry,
	runFilters,
	UnpausedExport,
	unpause,
	update,
} from "./shape.ts";

type BatchExports = OpenApi<typeof batchExports>;

const DESCRIPTION =
	"An export writes a project's events or persons to a destination, window after window. A backfill exports a range of time. Any member who can see the project can use all operations.";

/** @param Id what the ids of the operations call an export */
const named = (Id: string, tag: string, list: string, create: string): BatchExports => ({
	tag: { name: tag, description: DESCRIPTION },
	operations: {
		"GET /": { id: `list${Id}s`, summary: "List the exports", description: list },
		"POST /": { id: `create${Id}`, summary: "Create an export", description: create },
		"POST /test": {
			id: `testNew${Id}`,
			summary: "Test a destination before it is saved",
			description:
				"Does what a run would do, with a test row, and removes what it wrote. The response is a 200 in either case, with the result of each step.",
		},
		"GET /:id": {
			id: `get${Id}`,
			summary: "Retrieve an export",
			description: "Returns the export and its latest runs. Secrets are omitted.",
		},
		"PATCH /:id": {
			id: `update${Id}`,
			summary: "Change an export",
			description:
				"The `config` of the destination is merged over the stored one; null removes a key. The type can't be changed. If you change the destination to another server, you must send its secrets again.",
		},
		"DELETE /:id": {
			id: `delete${Id}`,
			summary: "Delete an export",
			description: "Cancels its runs and backfills. What was written stays at the destination.",
		},
		"POST /:id/backfill": {
			id: `backfill${Id}`,
			summary: "Start a backfill",
			description:
				"Exports the windows in the range, one after another, also while the export is paused. Returns the export and the `backfill_id` immediately. A project can have three running backfills. 409 if a running backfill exports the range already.",
		},
		"POST /:id/pause": {
			id: `pause${Id}`,
			summary: "Pause an export",
			description:
				"Scheduled runs no longer start; runs that have started continue. Pausing a paused export changes nothing. Other fields in the body are validated, but not applied.",
		},
		"POST /:id/unpause": {
			id: `unpause${Id}`,
			summary: "Unpause an export",
			description:
				"Scheduled runs start again. With `backfill`, what arrived during the pause is exported too, and the response has the `backfill_id`.",
		},
		"POST /:id/test": {
			id: `test${Id}`,
			summary: "Test the destination of an export",
			description:
				"Tests the stored destination, with the changes in the body, which are not saved. The response is a 200 in either case, with the result of each step.",
		},
		"GET /:id/logs": {
			id: `list${Id}Logs`,
			summary: "List the log of an export",
			description:
				"Lists the log entries of the export and its runs, newest first, with the fields of the export.",
		},
		"GET /:id/metrics": {
			id: `list${Id}Metrics`,
			summary: "List the daily totals of an export",
			description: "Lists the totals of the runs that ended on each day (UTC), newest first.",
		},
		"GET /:id/ranges": {
			id: `list${Id}Ranges`,
			summary: "List the ranges of old runs",
			description:
				"Runs are deleted after 60 days. Lists what they delivered or missed, in ranges that don't overlap, newest first: those by arrival, and those by event time.",
		},
		"GET /:id/runs": {
			id: `list${Id}Runs`,
			summary: "List the runs of an export",
			description:
				"Lists scheduled runs and those of backfills, newest first. With `after`, `before` or `starts_before`, those with the newest windows first.",
		},
		"GET /:id/runs/:run_id": {
			id: `get${Id}Run`,
			summary: "Retrieve a run",
			description: "Returns the run with its progress.",
		},
		"POST /:id/runs/:run_id/cancel": {
			id: `cancel${Id}Run`,
			summary: "Cancel a run",
			description:
				"The run ends as `Cancelled`. 400 if it has already ended. Its window isn't exported again unless you retry the run.",
		},
		"POST /:id/runs/:run_id/retry": {
			id: `retry${Id}Run`,
			summary: "Retry a run",
			description:
				"Continues where the run ended if nothing has changed since, and starts over otherwise. 400 if the run hasn't ended, or its unfinished output is still being removed.",
		},
		"GET /:id/runs/:run_id/logs": {
			id: `list${Id}RunLogs`,
			summary: "List the log of a run",
			description: "Lists the log entries of the run, newest first.",
		},
		"GET /:id/backfills": {
			id: `list${Id}Backfills`,
			summary: "List the backfills of an export",
			description:
				"Lists the backfills with their progress, newest first. With `after` or `before`, those with the newest ranges first.",
		},
		"GET /:id/backfills/:backfill_id": {
			id: `get${Id}Backfill`,
			summary: "Retrieve a backfill",
			description: "Returns the backfill with its progress.",
		},
		"POST /:id/backfills/:backfill_id/cancel": {
			id: `cancel${Id}Backfill`,
			summary: "Cancel a backfill",
			description: "Cancels its runs that haven't ended. What they wrote stays.",
		},
	},
});

export const ofOrganization = named(
	"BatchExport",
	"Batch exports",
	"Lists the exports of all projects that you can see, newest first.",
	"Creates an export in the oldest project that you can see. The first window is the one in progress.",
);

export const ofProject = named(
	"ProjectBatchExport",
	"Batch exports of a project",
	"Lists the exports of the project, newest first.",
	"Creates an export in the project. The first window is the one in progress.",
);

const STATUSES = {
	Starting: "waits to start, or has been in progress for less than ten seconds.",
	Running: "is in progress.",
	Completed: "has written all rows, or there were none.",
	Failed: "failed, and you have to fix something; `latest_error` says what.",
	FailedRetryable: "gave up after several attempts.",
	Cancelled: "was cancelled.",
};

const SELECTIONS = {
	arrival: "what arrived in the window.",
	event: "what happened in the window; persons: who was created.",
};

const LEVELS = {
	DEBUG: "details.",
	INFO: "what happened.",
	WARNING: "what may need your attention.",
	ERROR: "what failed.",
};

describe(BatchExportRun, {
	id: "Identifies the run.",
	status: ["The status of the run.", STATUSES],
	records_completed: "How many rows have been exported.",
	records_total_count: "How many rows the window has; null before they are counted.",
	latest_error:
		"Why the run or its latest attempt failed; `Cancelled` if it was cancelled; null if neither happened.",
	data_interval_start: "The start of the window, which is part of it.",
	data_interval_end: "The end of the window, which isn't part of it.",
	cursor: "Where a retry would continue, in an internal format; null at the start.",
	created_at: "When the run was scheduled.",
	finished_at: "When the run ended; null if it hasn't.",
	last_updated_at: "When the run last made progress.",
	batch_export: "The id of the export.",
	backfill_id: "The id of the backfill that the run belongs to; null for a scheduled run.",
	by: ["What the run selects.", SELECTIONS],
	attempt:
		"How often the run was started: 0 before its first start, more than 1 after a retry or a crash.",
});

const INTERVALS = {
	hour: "from one full hour to the next.",
	day: "from midnight to midnight.",
	week: "from Monday to Monday.",
	"every 5 minutes": "twelve windows an hour.",
	"every 15 minutes": "four windows an hour.",
};

const MODELS = { events: "what happened.", persons: "who it happened to, with their properties." };

const LIMITS = {
	start_at: "No window begins before this time; null for no limit.",
	end_at: "No window ends after this time; null for no limit.",
};

describe(create, {
	name: "The export's name.",
	model: ["What is exported; `events` by default. `HTTP` destinations only accept events.", MODELS],
	destination: [
		"Where the rows go.",
		{ type: "The kind of destination.", config: "The destination's settings." },
	],
	interval: ["The length of the windows, in UTC.", INTERVALS],
	paused: "Whether scheduled runs are paused; false by default.",
	last_paused_at: "When the export was last paused. A backfill with `unpause` starts there.",
	...LIMITS,
	xql_query:
		"A query that selects and computes the columns of events: `SELECT … FROM events WHERE …`. Null exports all columns.",
});

describe(BatchExport, {
	id: "Identifies the export.",
	team_id: "The id of the project whose rows are exported.",
	name: "The export's name.",
	model: ["What is exported.", MODELS],
	destination: [
		"Where the rows go.",
		{ type: "The kind of destination.", config: "The destination's settings without its secrets." },
	],
	interval: ["The length of the windows, in UTC.", INTERVALS],
	paused: "Whether scheduled runs are paused.",
	created_at: "When the export was created.",
	last_updated_at: "When the export was last changed.",
	last_paused_at: "When the export was last paused; null if never.",
	...LIMITS,
	latest_runs: "The ten newest runs.",
	xql_query: "The normalized query; null if all columns are exported.",
	schema: [
		"The parsed query; null without one.",
		{
			fields: [
				"The columns.",
				{ expression: "How the column is computed.", alias: "The column's name." },
			],
			where: "The condition; missing if there is none.",
			values: "The values of the placeholders in expressions.",
			xql_query: "The normalized query.",
		},
	],
});

documentAs(create.shape.destination, Destination);
for (const option of Destination.options)
	describe(option, { type: "The kind of destination.", config: "The destination's settings." });

const CHANGES = {
	type: "The kind of destination, which can't be changed.",
	config: "The settings to change. Null removes one.",
};

documentAs(update.shape.destination.unwrap(), DestinationUpdate);
for (const option of DestinationUpdate.options) describe(option, CHANGES);

describe(
	update,
	{ destination: ["Where the rows go.", CHANGES] },
	create.omit({ destination: true }),
);

describe(
	unpause,
	{
		backfill:
			"Whether to also export what arrived during the pause, whenever it happened; false by default.",
	},
	update,
);

describe(
	backfill,
	{
		start_at:
			"The start of the range, with an offset from UTC. By default one interval before its end.",
		end_at:
			"The end of the range, with an offset from UTC and not in the future. By default the end of the last complete interval.",
		by: [
			"What to select; `event` by default.",
			{
				arrival:
					"what arrived in the range, whenever it happened, like scheduled runs. Windows that have such a run already are left out.",
				event: "what happened in the range; persons: who was created.",
			},
		],
	},
	update.omit({ start_at: true, end_at: true }),
);

describe(
	BackfilledExport,
	{ backfill_id: "The id of the backfill that was started." },
	BatchExport,
);

describe(
	UnpausedExport,
	{ backfill_id: "The id of the backfill that was started; missing if none was." },
	BatchExport,
);

describe(BatchExportBackfill, {
	id: "Identifies the backfill.",
	batch_export: "The id of the export.",
	start_at: "Where the range begins.",
	end_at: "Where the range ends.",
	by: ["What the backfill selects.", SELECTIONS],
	status: [
		"The status of the backfill.",
		{
			Running: "has runs that haven't ended.",
			Completed: "all runs have ended; some may have failed.",
			Cancelled: "was cancelled.",
		},
	],
	total_runs:
		"How many windows are in the range. By arrival, windows that had a run are subtracted at the end.",
	finished_runs: "How many runs have ended.",
	failed_runs: "How many of the runs that ended have failed.",
	created_at: "When the backfill was started.",
	finished_at: "When its last run ended; null while it is running.",
	last_updated_at: "When the backfill last made progress.",
});

describe(BatchExportRange, {
	start_at: "The start of the range, which is part of it.",
	end_at: "The end of the range, which isn't part of it.",
	by: ["What the runs selected.", SELECTIONS],
	latest_error:
		"null: the range was delivered. Otherwise it wasn't, and this is the error of the latest of its runs.",
	runs: "How many completed runs delivered it; 0 if it wasn't delivered.",
	rows: "How many rows these runs wrote.",
	bytes: "The size of these rows as text, before formatting and compression.",
});

describe(BatchExportLogEntry, {
	id: "Identifies the entry.",
	timestamp: "When it was written.",
	level: ["How serious it is.", LEVELS],
	message: "What happened, as text for people.",
	run_id: "The id of the run that it is about; null if it is about the export.",
});

describe(BatchExportDay, {
	day: "The day, in UTC.",
	runs: "How many runs completed.",
	rows: "How many rows these runs wrote.",
	bytes: "The size of these rows as text, before formatting and compression.",
	failures: "How many runs failed.",
	seconds: "How long all these runs took together.",
});

describe(logFilters, {
	after: "Only entries that were written after this time.",
	before: "Only entries that were written before this time.",
	search: "Only entries whose message contains this text, in any case. At most 200 characters.",
	level: "Only entries of this level, in any case. Can be repeated.",
});

describe(runFilters, {
	status: "Only runs with this status, in any case. Can be repeated.",
	kind: "Only runs of the schedule, or only those of backfills.",
	after: "Only runs whose window ends after this time, such as `-2d`.",
	before: "Only runs whose window ends before this time, such as `-24h`.",
	starts_before:
		"Only runs whose window begins before this time. Together with `after`: the runs whose windows overlap a range. Windows of a backfill that isn't aligned to the interval are found only if they end by this time, and so are those that begin with a change of the interval.",
});

describe(rangeFilters, {
	after: "Only ranges that end after this time.",
	starts_before:
		"Only ranges that begin before this time. Together with `after`: the ranges that overlap a range.",
});

describe(backfillFilters, {
	status: "Only backfills with this status, in any case. Can be repeated.",
	after: "Only backfills whose range ends after this time.",
	before: "Only backfills whose range ends before this time.",
});

describe(retry, { from: "`start` starts over, even if the run could continue." });

describe(TestResult, {
	success: "Whether every step succeeded.",
	steps: [
		"The steps, up to the first that failed.",
		{
			name: "The name of the step.",
			error: "Why the step failed; null if it succeeded.",
			warning:
				"What you should know although the step succeeded, such as a table in which retries can repeat rows; null if there is nothing.",
		},
	],
});
