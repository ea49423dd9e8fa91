import * as z from "zod";
import { deletedFilter, listDeleted } from "../../access/deletions.ts";
import { body, query } from "../../access/input.ts";
import { needs } from "../../access/middleware.ts";
import { page } from "../../http/page.ts";
import {
	accepted,
	created,
	fileOf,
	noContent,
	ok,
	paginated,
	paginatedWithin,
	router,
} from "../../http/router.ts";
import { TestResult } from "../../outbound/steps.ts";
import { FILE_TYPES } from "../destinations/files/names.ts";
import * as backfills from "./backfills.ts";
import * as duplicates from "./duplicate.ts";
import * as files from "./files.ts";
import * as handOvers from "./hand_over.ts";
import * as history from "./history.ts";
import * as logs from "./logs.ts";
import * as oneOffs from "./one_offs.ts";
import * as pauses from "./pauses.ts";
import * as batchExports from "./queries.ts";
import * as runs from "./runs.ts";
import {
	BackfilledExport,
	BatchExport,
	BatchExportBackfill,
	BatchExportDay,
	BatchExportFile,
	BatchExportLogEntry,
	BatchExportRange,
	BatchExportRun,
	BatchExportTotals,
	backfill,
	backfillFilters,
	create,
	duplicate,
	filters,
	handOver,
	logFilters,
	OneOffRun,
	once,
	pause,
	RetriedWindows,
	rangeFilters,
	retry,
	runFilters,
	undelivered as span,
	test,
	testChanges,
	UnpausedExport,
	unpause,
	update,
} from "./shape.ts";
import { testDestination, testNewDestination } from "./test_destination.ts";
import * as undelivered from "./undelivered.ts";

const DESCRIPTION =
	"An export writes a project's events or persons to a destination, window after window. A backfill exports a range of time. Any member who can see the project can use all operations.";

/** Enough for operations that neither change an export nor say where its rows go. */
const RUN = "batch_export:run";

/** The name of an export where the routes are mounted, and the texts of the operations there. */
type Mounted = {
	/** The word for an export in the ids of operations. */
	Id: string;
	section: string;
	listed: string;
	added: string;
};

/** docs/exports.md */
const routes = ({ Id, section, listed, added }: Mounted) =>
	router({
		name: section,
		description: DESCRIPTION,
		parameters: {
			id: z.guid().describe("The export's id."),
			run_id: z.guid().describe("The run's id."),
			name: z.string().describe("The file's name."),
			backfill_id: z.guid().describe("The backfill's id."),
		},
	})
		.get(
			"/",
			paginated(BatchExport, {
				id: `list${Id}s`,
				summary: "List the exports",
				description: listed,
			}),
			query(filters.extend(deletedFilter().shape)),
			async (c) => {
				const { deleted, ...wanted } = c.req.valid("query");
				return c.json(
					await (deleted
						? listDeleted<z.infer<typeof BatchExport>>(c.var.tenant, page(c), "batch_export")
						: batchExports.list(c.var.tenant, page(c), wanted)),
				);
			},
		)
		.post(
			"/",
			created(BatchExport, { id: `create${Id}`, summary: "Create an export", description: added }),
			body(create),
			async (c) => c.json(await batchExports.insert(c.var.tenant, c.req.valid("json")), 201),
		)
		.post(
			"/one_off",
			created(OneOffRun, {
				id: `run${Id}Once`,
				summary: "Start a one-off run",
				description:
					"Writes a range to files that people can download for seven days. Returns the run, which is in progress: follow it with `batch_export` and `id`. It counts as one of the three running backfills of a project. Spreadsheets open the CSV files without formulas.",
			}),
			body(once),
			async (c) => c.json(await oneOffs.start(c.var.tenant, c.req.valid("json")), 201),
		)
		.post(
			"/test",
			ok(TestResult, {
				id: `testNew${Id}`,
				summary: "Test a destination before it is saved",
				description:
					"Does what a run would do, with a test row, and removes what it wrote. The response is a 200 in either case, with the result of each step.",
			}),
			body(test),
			async (c) => c.json(await testNewDestination(c.var.tenant, c.req.valid("json"))),
		)
		.get(
			"/metrics",
			ok(BatchExportTotals, {
				id: `get${Id}Totals`,
				summary: "Retrieve the daily totals of all exports",
				description:
					"Returns the totals of the exports that you can see, by the day (UTC) on which their runs ended, for the last 90 days.",
			}),
			async (c) => c.json(await history.listTotals(c.var.tenant)),
		)
		.get(
			"/:id",
			ok(BatchExport, {
				id: `get${Id}`,
				summary: "Retrieve an export",
				description: "Returns the export and its latest runs. Secrets are omitted.",
			}),
			async (c) => c.json(await batchExports.find(c.var.tenant, c.req.param("id"))),
		)
		.patch(
			"/:id",
			ok(BatchExport, {
				id: `update${Id}`,
				summary: "Change an export",
				description:
					"The `config` of the destination is merged over the stored one; null removes a key. The type can't be changed. If you change the destination to another server, you must send its secrets again.",
			}),
			body(update, batchExports.find),
			async (c) =>
				c.json(await batchExports.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.delete(
			"/:id",
			noContent({
				id: `delete${Id}`,
				summary: "Delete an export",
				description:
					"Cancels its runs and backfills. What was written stays at the destination. It can be restored for 30 days.",
			}),
			async (c) => {
				await batchExports.remove(c.var.tenant, c.req.param("id"));
				return c.body(null, 204);
			},
		)
		.post(
			"/:id/backfill",
			ok(BackfilledExport, {
				id: `backfill${Id}`,
				scope: RUN,
				summary: "Start a backfill",
				description:
					"Exports the windows in the range, one after another, also while the export is paused. Returns the export and the `backfill_id` immediately. A project can have three running backfills. 409 if a running backfill exports the range already.",
			}),
			body(backfill, batchExports.find),
			async (c) =>
				c.json(await backfills.start(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.post(
			"/:id/pause",
			ok(BatchExport, {
				id: `pause${Id}`,
				scope: RUN,
				summary: "Pause an export",
				description:
					"Scheduled runs no longer start; runs that have started continue. Pausing a paused export changes nothing.",
			}),
			body(pause, batchExports.find),
			async (c) => c.json(await pauses.pause(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.post(
			"/:id/unpause",
			ok(UnpausedExport, {
				id: `unpause${Id}`,
				scope: RUN,
				summary: "Unpause an export",
				description:
					"Scheduled runs start again. With `backfill`, what arrived during the pause is exported too, and the response has the `backfill_id`.",
			}),
			body(unpause, batchExports.find),
			async (c) =>
				c.json(await pauses.unpause(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.post(
			"/:id/duplicate",
			created(BatchExport, {
				id: `duplicate${Id}`,
				summary: "Duplicate an export",
				description:
					"Makes a copy of the export with its secrets, but without its runs and access controls. It is paused. Requires the access level `manager` to the export, and `editor` to exports ([access](/docs/access)). If `destination` is another server or of another type, you must send its secrets. To move to another destination, duplicate the export, test the copy, and call `hand_over`.",
			}),
			needs("manager"),
			body(duplicate, batchExports.find),
			async (c) =>
				c.json(
					await duplicates.duplicate(c.var.tenant, c.req.param("id"), c.req.valid("json")),
					201,
				),
		)
		.post(
			"/:id/hand_over",
			ok(UnpausedExport, {
				id: `handOver${Id}`,
				summary: "Let another export continue",
				description:
					"Pauses the export and unpauses `to`, in one change. Each window is exported by one of the two: runs that have started continue, and `to` exports what arrives after them, with a backfill for the windows that are due. The windows that `undelivered` counts become those of `to`, except failed ones of backfills by event time, and so do those whose runs wait for an earlier one, which are cancelled; export them with `retry_failed`. Returns the export that continues.",
				errors: { does_not_exist: "You can't see an export `to`." },
			}),
			body(handOver, batchExports.find),
			async (c) =>
				c.json(await handOvers.handOver(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.post(
			"/:id/retry_failed",
			accepted(RetriedWindows, {
				id: `retry${Id}`,
				scope: RUN,
				summary: "Export what wasn't delivered",
				description:
					"Retries the failed runs that `undelivered` counts, and adds runs for the windows that the schedule has passed over, oldest first, at most 500 of each. Repeating the request is safe: windows that are being exported don't count. The response comes immediately.",
			}),
			body(span, batchExports.find),
			async (c) =>
				c.json(
					await undelivered.retryFailed(c.var.tenant, c.req.param("id"), c.req.valid("json")),
					202,
				),
		)
		.post(
			"/:id/dismiss_failed",
			ok(BatchExport, {
				id: `dismiss${Id}`,
				summary: "Dismiss what wasn't delivered",
				description:
					"Says that nobody needs the windows that `undelivered` counts. Their runs stay as they are and can be retried. Returns the export.",
			}),
			body(span, batchExports.find),
			async (c) =>
				c.json(
					await undelivered.dismissFailed(c.var.tenant, c.req.param("id"), c.req.valid("json")),
				),
		)
		.post(
			"/:id/test",
			ok(TestResult, {
				id: `test${Id}`,
				summary: "Test the destination of an export",
				description:
					"Tests the stored destination, with the changes in the body, which are not saved. The response is a 200 in either case, with the result of each step.",
			}),
			body(testChanges, batchExports.find),
			async (c) =>
				c.json(await testDestination(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.get(
			"/:id/logs",
			paginatedWithin(BatchExport, BatchExportLogEntry, {
				id: `list${Id}Logs`,
				summary: "List the log of an export",
				description:
					"Lists the log entries of the export and its runs, newest first, with the fields of the export.",
			}),
			query(logFilters, batchExports.find),
			async (c) =>
				c.json(await logs.list(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query"))),
		)
		.get(
			"/:id/metrics",
			paginated(BatchExportDay, {
				id: `list${Id}Metrics`,
				summary: "List the daily totals of an export",
				description: "Lists the totals of the runs that ended on each day (UTC), newest first.",
			}),
			async (c) => c.json(await history.listMetrics(c.var.tenant, c.req.param("id"), page(c))),
		)
		.get(
			"/:id/ranges",
			paginated(BatchExportRange, {
				id: `list${Id}Ranges`,
				summary: "List the ranges of old runs",
				description:
					"Runs are deleted after 60 days. Lists what they delivered or missed, in ranges that don't overlap, newest first: those by arrival, and those by event time.",
			}),
			query(rangeFilters, batchExports.find),
			async (c) =>
				c.json(
					await history.listRanges(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query")),
				),
		)
		.get(
			"/:id/runs",
			paginated(BatchExportRun, {
				id: `list${Id}Runs`,
				summary: "List the runs of an export",
				description:
					"Lists scheduled runs and those of backfills, newest first. With `after`, `before` or `starts_before`, those with the newest windows first.",
			}),
			query(runFilters, batchExports.find),
			async (c) =>
				c.json(await runs.list(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query"))),
		)
		.get(
			"/:id/runs/:run_id",
			ok(BatchExportRun, {
				id: `get${Id}Run`,
				summary: "Retrieve a run",
				description: "Returns the run with its progress.",
			}),
			async (c) => c.json(await runs.find(c.var.tenant, c.req.param("id"), c.req.param("run_id"))),
		)
		.post(
			"/:id/runs/:run_id/cancel",
			ok(BatchExportRun, {
				id: `cancel${Id}Run`,
				scope: RUN,
				summary: "Cancel a run",
				description:
					"The run ends as `Cancelled`. 400 if it has already ended. Its window isn't exported again unless you retry the run.",
			}),
			async (c) =>
				c.json(await runs.cancel(c.var.tenant, c.req.param("id"), c.req.param("run_id"))),
		)
		.post(
			"/:id/runs/:run_id/retry",
			ok(BatchExportRun, {
				id: `retry${Id}Run`,
				scope: RUN,
				summary: "Retry a run",
				description:
					"Continues where the run ended if nothing has changed since, and starts over otherwise. 400 if the run hasn't ended, or its unfinished output is still being removed.",
			}),
			body(retry, (tenant, run_id, c) => runs.find(tenant, c.req.param("id") ?? "", run_id)),
			async (c) => {
				const { id, run_id } = c.req.param();
				const options = c.req.valid("json");
				return c.json(await runs.retry(c.var.tenant, id, run_id, options));
			},
		)
		.get(
			"/:id/runs/:run_id/logs",
			paginated(BatchExportLogEntry, {
				id: `list${Id}RunLogs`,
				summary: "List the log of a run",
				description: "Lists the log entries of the run, newest first.",
			}),
			query(logFilters, (tenant, run_id, c) => runs.find(tenant, c.req.param("id") ?? "", run_id)),
			async (c) =>
				c.json(await logs.listOfRun(c.var.tenant, c.req.param(), page(c), c.req.valid("query"))),
		)
		.get(
			"/:id/runs/:run_id/files",
			paginated(BatchExportFile, {
				id: `list${Id}RunFiles`,
				summary: "List the files of a run",
				description:
					"Lists the files that the run wrote to the service's own bucket (`R2`), in the order of their rows. Empty until the run is complete, and for other destinations.",
			}),
			async (c) => c.json(await files.list(c.var.tenant, c.req.param(), page(c))),
		)
		.get(
			"/:id/runs/:run_id/files/:name",
			fileOf(FILE_TYPES, {
				id: `download${Id}RunFile`,
				scope: "batch_export:write",
				summary: "Download a file of a run",
				description:
					"Returns the file, or with `Range` a part of it. Whoever can change the destination of an export could send its rows anywhere, so this requires the same scope and access. 404 if a later run or somebody else has replaced or removed the file.",
			}),
			needs("editor"),
			async (c) => files.download(c, c.req.param(), c.req.param("name")),
		)
		.get(
			"/:id/backfills",
			paginated(BatchExportBackfill, {
				id: `list${Id}Backfills`,
				summary: "List the backfills of an export",
				description:
					"Lists the backfills with their progress, newest first. With `after` or `before`, those with the newest ranges first.",
			}),
			query(backfillFilters, batchExports.find),
			async (c) =>
				c.json(
					await backfills.list(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query")),
				),
		)
		.get(
			"/:id/backfills/:backfill_id",
			ok(BatchExportBackfill, {
				id: `get${Id}Backfill`,
				summary: "Retrieve a backfill",
				description: "Returns the backfill with its progress.",
			}),
			async (c) =>
				c.json(await backfills.find(c.var.tenant, c.req.param("id"), c.req.param("backfill_id"))),
		)
		.post(
			"/:id/backfills/:backfill_id/cancel",
			ok(BatchExportBackfill, {
				id: `cancel${Id}Backfill`,
				scope: RUN,
				summary: "Cancel a backfill",
				description: "Cancels its runs that haven't ended. What they wrote stays.",
			}),
			async (c) =>
				c.json(await backfills.cancel(c.var.tenant, c.req.param("id"), c.req.param("backfill_id"))),
		);

/** The exports of all projects of an organization. */
export const ofOrganization = () =>
	routes({
		Id: "BatchExport",
		section: "Batch exports",
		listed: "Lists the exports of all projects that you can see, newest first.",
		added:
			"Creates an export in the oldest project that you can change. The first window is the one in progress.",
	});

export const ofProject = () =>
	routes({
		Id: "ProjectBatchExport",
		section: "Batch exports of a project",
		listed: "Lists the exports of the project, newest first.",
		added: "Creates an export in the project. The first window is the one in progress.",
	});
