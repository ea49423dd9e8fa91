import type { Reference } from "../http/reference.ts";
import type batchExports from "./routes.ts";

type BatchExports = Reference<typeof batchExports>;

const DESCRIPTION =
	"An export sends a project's events or persons to a destination, window after window. A backfill does so for a range. Any member who sees the project may do everything.";

/** @param Id what the ids of the operations call an export */
const named = (Id: string, tag: string, list: string, create: string): BatchExports => ({
	tag: { name: tag, description: DESCRIPTION },
	operations: {
		"/": {
			get: { id: `list${Id}s`, summary: "List the exports", description: list },
			post: { id: `create${Id}`, summary: "Create an export", description: create },
		},
		"/test": {
			post: {
				id: `testNew${Id}`,
				summary: "Test a destination before it is saved",
				description:
					"Does what a run would do, with a test row, and removes what it wrote. The answer is a 200 in either case, and says how each step went.",
			},
		},
		"/:id": {
			get: {
				id: `get${Id}`,
				summary: "Retrieve an export",
				description: "Answers with the export and its latest runs. Secrets are left out.",
			},
			patch: {
				id: `update${Id}`,
				summary: "Change an export",
				description:
					"The `config` of the destination is merged over the stored one; null removes a key. The type can't be changed. Stored secrets have to be given again if the destination leads to another server.",
			},
			delete: {
				id: `delete${Id}`,
				summary: "Delete an export",
				description: "Cancels its runs and backfills. What was written stays at the destination.",
			},
		},
		"/:id/backfill": {
			post: {
				id: `backfill${Id}`,
				summary: "Start a backfill",
				description:
					"Exports the windows that fit into the range, one after another, also while the export is paused. Answers at once with the export and the `backfill_id`. At most three backfills of a project run at a time.",
			},
		},
		"/:id/pause": {
			post: {
				id: `pause${Id}`,
				summary: "Pause an export",
				description:
					"No more scheduled runs start; runs that have started go on. Pausing a paused export changes nothing. Other fields in the body are validated and not applied.",
			},
		},
		"/:id/unpause": {
			post: {
				id: `unpause${Id}`,
				summary: "Unpause an export",
				description:
					"Scheduled runs start again. With `backfill`, what was missed since the pause is exported too, and the answer has the `backfill_id`.",
			},
		},
		"/:id/test": {
			post: {
				id: `test${Id}`,
				summary: "Test the destination of an export",
				description:
					"Tests the stored destination, with the changes in the body, which are not saved. The answer is a 200 in either case, and says how each step went.",
			},
		},
		"/:id/logs": {
			get: {
				id: `list${Id}Logs`,
				summary: "List the log of an export",
				description:
					"Lists the log entries of the export and its runs, newest first, with the fields of the export.",
			},
		},
		"/:id/metrics": {
			get: {
				id: `list${Id}Metrics`,
				summary: "List the daily totals of an export",
				description: "Lists what the runs that ended on each day (UTC) came to, newest first.",
			},
		},
		"/:id/runs": {
			get: {
				id: `list${Id}Runs`,
				summary: "List the runs of an export",
				description: "Lists scheduled runs and those of backfills, newest first.",
			},
		},
		"/:id/runs/:run_id": {
			get: {
				id: `get${Id}Run`,
				summary: "Retrieve a run",
				description: "Answers with the run and how far it is.",
			},
		},
		"/:id/runs/:run_id/cancel": {
			post: {
				id: `cancel${Id}Run`,
				summary: "Cancel a run",
				description:
					"The run ends as `Cancelled`. 400 if it has already ended. Its window isn't exported again unless you retry the run.",
			},
		},
		"/:id/runs/:run_id/retry": {
			post: {
				id: `retry${Id}Run`,
				summary: "Retry a run",
				description:
					"Goes on from where the run ended if nothing has changed since, and starts over otherwise. 400 if the run hasn't ended or succeeded.",
			},
		},
		"/:id/runs/:run_id/logs": {
			get: {
				id: `list${Id}RunLogs`,
				summary: "List the log of a run",
				description: "Lists the log entries of the run, newest first.",
			},
		},
		"/:id/backfills": {
			get: {
				id: `list${Id}Backfills`,
				summary: "List the backfills of an export",
				description: "Lists the backfills and how far each is, newest first.",
			},
		},
		"/:id/backfills/:backfill_id/cancel": {
			post: {
				id: `cancel${Id}Backfill`,
				summary: "Cancel a backfill",
				description: "Cancels its runs that haven't ended. What they wrote stays.",
			},
		},
	},
});

export const ofOrganization = named(
	"BatchExport",
	"Batch exports",
	"Lists the exports of all projects that you can see, newest first.",
	"Creates an export in the oldest project that you can see. The first window is the one under way.",
);

export const ofProject = named(
	"ProjectBatchExport",
	"Batch exports of a project",
	"Lists the exports of the project, newest first.",
	"Creates an export in the project. The first window is the one under way.",
);
