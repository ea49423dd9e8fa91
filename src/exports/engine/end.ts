import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { commitIfCurrent } from "../../access/unit_of_work.ts";
import { assertExists, type Database } from "../../db/client.ts";
import { bySystem } from "../../db/record.ts";
import {
	batchExportDays,
	batchExportRuns,
	type StoredFile,
} from "../../db/schema/batch_exports.ts";
import { NO_LEASE } from "../../delivery/lease.ts";
import { pluralize } from "../../lib/text.ts";
import { now } from "../../lib/time.ts";
import { sentence } from "../../outbound/errors.ts";
import { type Attempt, reload, remember } from "./attempt.ts";
import { clean } from "./clean.ts";
import { isCurrent, isRun, type Loaded, logOf } from "./loaded.ts";
import { MAX_ATTEMPTS } from "./retries.ts";
import { logWhere } from "./run_log.ts";

export type Progress = {
	records_completed: number;
	bytes: number;
	/** How many values were written as null, because they don't fit their columns' types. */
	unfit_values: number;
	started_at: string;
	/** The number of failed attempts since the last progress. */
	attempts: number;
};

/** Returns the part of a log entry that names the files. */
const describeFiles = (files: string[]) =>
	files.length > 1
		? `, in ${files.length} files from ${files[0]} to ${files.at(-1)}`
		: files.map((file) => `, in ${file}`).join("");

/** Returns the part of a log entry that counts values written as null. */
const describeUnfit = (values: number) =>
	values > 0
		? ` Written as null, because the column can't hold them: ${pluralize(values, "value")}.`
		: "";

type Outcome = Progress &
	(
		| {
				status: "Completed";
				latest_error: null;
				records_total_count: number;
				files: string[];
				stored: StoredFile[] | null;
				warnings: string[];
		  }
		| { status: "Failed" | "FailedRetryable"; latest_error: string }
	);

const NEXT_STEP = {
	Failed: "Fix the cause, then retry the run.",
	FailedRetryable: "Retry the run when the destination works again.",
};

/** Returns the log entry of a run that has ended. */
function describeEnd(run: Loaded["run"], outcome: Outcome, seconds: number) {
	const { records_completed, bytes, unfit_values, latest_error } = outcome;
	const window = `The run of ${run.data_interval_start} to ${run.data_interval_end}`;
	const figures = `${pluralize(records_completed, "row")}, ${pluralize(bytes, "byte")}, ${pluralize(seconds, "second")}, attempt ${run.lease}`;
	switch (outcome.status) {
		case "Completed":
			return `${window} is complete: ${figures}${describeFiles(outcome.files)}.${describeUnfit(unfit_values)}`;
		case "Failed":
			return `${window} failed: ${sentence(latest_error ?? "")} It was not tried again, because the error is permanent. ${NEXT_STEP.Failed} Totals: ${figures}.`;
		case "FailedRetryable":
			return `${window} failed ${MAX_ATTEMPTS} times in a row without progress: ${sentence(latest_error ?? "")} ${NEXT_STEP.FailedRetryable} Totals: ${figures}.`;
	}
}

/** Returns the event of a run that has ended (docs/notifications.md#events). */
function eventOf({ run, batchExport }: Loaded, outcome: Outcome, seconds: number) {
	const { status, records_completed, bytes, latest_error } = outcome;
	const { id: run_id, data_interval_start, data_interval_end } = run;
	return bySystem({
		activity: status === "Completed" ? "completed" : "failed",
		scope: "BatchExportRun",
		item_id: run_id,
		name: batchExport.name,
		trigger: {
			run_id,
			batch_export_id: batchExport.uuid,
			backfill_id: run.backfill_id,
			data_interval_start,
			data_interval_end,
			status,
			attempt: run.lease,
			rows: records_completed,
			bytes,
			seconds,
			error: latest_error,
			next_step: status === "Completed" ? null : NEXT_STEP[status],
		},
		organization: batchExport.organization_id,
		project: batchExport.project_id,
	});
}

/** Returns the statement that adds a run to the totals of its day. */
const addToDay = (db: Database, figures: typeof batchExportDays.$inferInsert) =>
	db
		.insert(batchExportDays)
		.values(figures)
		.onConflictDoUpdate({
			target: [batchExportDays.batch_export_id, batchExportDays.day],
			set: Object.fromEntries(
				(["runs", "rows", "bytes", "failures", "seconds"] as const).map((name) => [
					name,
					sql`${batchExportDays[name]} + ${sql.raw(`excluded.${name}`)}`,
				]),
			),
		});

/**
 * Ends the run, logs its outcome and writes its event, unless the run has already ended or another
 * attempt has taken over. If it didn't succeed, removes its unfinished output.
 */
export async function endRun(attempt: Attempt, outcome: Outcome) {
	const { env, ref } = attempt;
	const { run } = attempt.loaded;
	const db = drizzle(env.DB);
	const { status, latest_error } = outcome;
	const at = now();
	const seconds = Math.max(0, Date.parse(at) - Date.parse(outcome.started_at)) / 1000;
	const isComplete = status === "Completed";
	const warnings = outcome.status === "Completed" ? outcome.warnings : [];
	const set = {
		...attempt.begun,
		status,
		latest_error,
		...NO_LEASE,
		started_at: null,
		finished_at: at,
		last_updated_at: at,
		...(outcome.status === "Completed" && {
			state: null,
			cursor: null,
			fingerprint: null,
			records_completed: outcome.records_completed,
			records_total_count: outcome.records_total_count,
			bytes: outcome.bytes,
			unfit_values: outcome.unfit_values,
			files: outcome.stored,
		}),
	};
	const ended = await commitIfCurrent(env, db, {
		checks: [assertExists(db, batchExportRuns, isCurrent(ref))],
		changes: [
			logWhere(db, {
				...logOf(run),
				level: isComplete ? "INFO" : "ERROR",
				message: describeEnd(run, outcome, seconds),
				more: warnings.map((message) => ({ level: "WARNING", message })),
			}),
			addToDay(db, {
				batch_export_id: run.batch_export_id,
				day: at.slice(0, 10),
				runs: isComplete ? 1 : 0,
				rows: isComplete ? outcome.records_completed : 0,
				bytes: isComplete ? outcome.bytes : 0,
				failures: isComplete ? 0 : 1,
				seconds,
			}),
			db.update(batchExportRuns).set(set).where(isRun(ref)),
		],
		entries: [eventOf(attempt.loaded, outcome, seconds)],
	});
	// Removing the unfinished output of a failed run requires its state.
	const isKnown = !attempt.isStale && (isComplete || !attempt.lacksState);
	if (ended && isKnown) remember(attempt, set);
	else await reload(attempt);
	if (!isComplete) await clean(env, attempt.loaded);
}
