import { and, eq, isNotNull, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Database, insertWhere } from "../db/client.ts";
import { batchExportDays, batchExportRuns, batchExports, now } from "../db/schema.ts";
import type { Launched } from "./launch.ts";
import { isCurrent, type Loaded, load, logOf, prepare } from "./loaded.ts";
import { pluralize, withLogEntry } from "./run_log.ts";
import { MAX_TRIES } from "./tries.ts";

/** When to stop trying to remove the leftovers of a run: the bucket may be gone, or the credentials revoked. */
const CLEANUP_GIVE_UP_MS = 7 * 86_400_000;

/** The progress of a run. */
export type Progress = {
	records_completed: number;
	bytes: number;
	/** How many values were written as null, because their columns can't hold them. */
	unfit_values: number;
	started_at: string;
	/** How many tries have failed since the last progress. */
	tries: number;
};

/** The part of a log entry that names the files. */
const describeFiles = (files: string[]) =>
	files.length > 1
		? `, in ${files.length} files from ${files[0]} to ${files.at(-1)}`
		: files.map((file) => `, in ${file}`).join("");

/** The part of a log entry that counts values written as null. */
const describeUnfit = (values: number) =>
	values > 0
		? ` Written as null, because the column can't hold them: ${pluralize(values, "value")}.`
		: "";

/** How a run ended. */
type Outcome = Progress &
	(
		| {
				status: "Completed";
				latest_error: null;
				records_total_count: number;
				files: string[];
		  }
		| { status: "Failed" | "FailedRetryable"; latest_error: string }
	);

/** The text with a full stop at its end. */
export const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** The log entry of a run that has ended: its totals and, if it failed, why and what to do. */
function describeEnd(run: Loaded["run"], outcome: Outcome, seconds: number) {
	const { records_completed, bytes, unfit_values, latest_error } = outcome;
	const window = `The run of ${run.data_interval_start} to ${run.data_interval_end}`;
	const figures = `${pluralize(records_completed, "row")}, ${pluralize(bytes, "byte")}, ${pluralize(seconds, "second")}, attempt ${run.attempt}`;
	switch (outcome.status) {
		case "Completed":
			return `${window} is complete: ${figures}${describeFiles(outcome.files)}.${describeUnfit(unfit_values)}`;
		case "Failed":
			return `${window} failed: ${sentence(latest_error ?? "")} It was not tried again, because the error is permanent. Fix the cause, then retry the run. Totals: ${figures}.`;
		case "FailedRetryable":
			return `${window} failed after ${MAX_TRIES} tries in a row without progress: ${sentence(latest_error ?? "")} Retry the run when the destination works again. Totals: ${figures}.`;
	}
}

/** The statement that adds a run to the totals of its day, if `condition` holds. */
const addToDay = (db: Database, figures: typeof batchExportDays.$inferInsert, condition: SQL) =>
	insertWhere(db, batchExportDays, figures, condition).onConflictDoUpdate({
		target: [batchExportDays.batch_export_id, batchExportDays.day],
		set: Object.fromEntries(
			(["runs", "rows", "bytes", "failures", "seconds"] as const).map((name) => [
				name,
				sql`${batchExportDays[name]} + ${sql.raw(`excluded.${name}`)}`,
			]),
		),
	});

/** Ends the run and logs its outcome. Does nothing if the run has ended, or if another attempt has taken over. */
export async function end(env: Env, launched: Launched, run: Loaded["run"], outcome: Outcome) {
	const db = drizzle(env.DB);
	const { status, latest_error } = outcome;
	const at = now();
	const seconds = Math.max(0, Date.parse(at) - Date.parse(outcome.started_at)) / 1000;
	const isComplete = status === "Completed";
	const hasEnded = sql`exists (select 1 from batch_export_runs as ended where ended.id = ${run.id}
		and ended.attempt = ${launched.attempt} and ended.finished_at = ${at})`;
	await db.batch([
		...withLogEntry(
			db,
			db
				.update(batchExportRuns)
				.set({
					status,
					latest_error,
					next_try_at: null,
					finished_at: at,
					last_updated_at: at,
					...(outcome.status === "Completed" && {
						state: null,
						cursor: null,
						records_completed: outcome.records_completed,
						records_total_count: outcome.records_total_count,
						bytes: outcome.bytes,
						unfit_values: outcome.unfit_values,
					}),
				})
				.where(isCurrent(launched)),
			{
				...logOf(run),
				level: isComplete ? "INFO" : "ERROR",
				message: describeEnd(run, outcome, seconds),
			},
		),
		db
			.update(batchExports)
			.set({
				undelivered_windows: sql`${batchExports.undelivered_windows} + 1`,
				last_updated_at: sql`${batchExports.last_updated_at}`,
			})
			.where(
				and(eq(batchExports.id, run.batch_export_id), sql`${status} <> 'Completed'`, hasEnded),
			),
		addToDay(
			db,
			{
				batch_export_id: run.batch_export_id,
				day: at.slice(0, 10),
				runs: isComplete ? 1 : 0,
				rows: isComplete ? outcome.records_completed : 0,
				bytes: isComplete ? outcome.bytes : 0,
				failures: isComplete ? 0 : 1,
				seconds,
			},
			hasEnded,
		),
	]);
	if (status !== "Completed") await clean(env, run.id);
}

/**
 * Removes the unfinished output of a run that has ended. If that fails, a later tick tries again. If the destination keeps
 * what was written, nothing is removed, so that a retry can resume.
 * @param latest the state of the run, if it could not be stored any more
 */
export async function clean(env: Env, run_id: string, latest?: unknown) {
	const db = drizzle(env.DB);
	const loaded = await load(db, run_id);
	const ended = loaded?.run.finished_at;
	if (!ended || loaded.run.status === "Completed") return;
	const { run } = loaded;
	const state = latest ?? run.state;
	if (state === null) return;
	const removed = await prepare(env, loaded)
		.then(async ({ destination, job }) => {
			if (destination.resumes) return { resume_state: run.state };
			await destination.abort(job, state);
			return { cursor: null };
		})
		.catch(() => undefined);
	const isGivenUp = Date.now() - Date.parse(ended) > CLEANUP_GIVE_UP_MS;
	await db
		.update(batchExportRuns)
		.set({
			state: removed || isGivenUp ? null : state,
			...removed,
			last_updated_at: now(),
		})
		.where(
			and(
				eq(batchExportRuns.id, run_id),
				eq(batchExportRuns.attempt, run.attempt),
				isNotNull(batchExportRuns.finished_at),
			),
		);
}
