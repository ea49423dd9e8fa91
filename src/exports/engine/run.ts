import { and, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { iso, now } from "../../db/now.ts";
import { batchExportRuns } from "../../db/schema/batch_exports.ts";
import { MisconfiguredError, SupersededError } from "../../outbound/errors.ts";
import { reason, sentence } from "../../outbound/reason.ts";
import { type Attempt, openAttempt } from "./attempt.ts";
import { pauseIfFailing } from "./auto_pause.ts";
import { advanceBackfill } from "./backfill_runs.ts";
import { endRun, type Progress } from "./end.ts";
import { type AttemptRef, claimNext } from "./launch.ts";
import { isCurrent, isRun, logOf } from "./loaded.ts";
import { withLogEntry } from "./run_log.ts";
import { HEARTBEAT_MS, isSpent, newBudget, transferRows } from "./transfer.ts";
import { delayAfter, MAX_TRIES } from "./tries.ts";

const { status } = batchExportRuns;

/** The run that an instance continues with, and how long it waits before that. */
export type Turn = AttemptRef & { wait_ms: number };

/**
 * Continues a run, then the next runs of its series, until a run has to wait or the budget of the step is used up.
 * @returns the run to continue with; null if none is left
 */
export async function runSeries(env: Env, first: AttemptRef): Promise<Turn | null> {
	const budget = newBudget();
	for (let current = first; ; ) {
		// Allows the local server to handle requests. Its storage is in the same process, so statements alone never yield to
		// requests.
		await scheduler.wait(1);
		const attempt = await openAttempt(env, current);
		if (!attempt) return null;
		const wait_ms = await continueRun(attempt, budget);
		if (wait_ms !== null) return { ...current, wait_ms };
		const next = await afterRun(attempt);
		if (next === null) return null;
		if (isSpent(budget)) return { ...next, wait_ms: 0 };
		current = next;
	}
}

const progressOf = ({ loaded: { run } }: Attempt): Progress => ({
	tries: run.tries,
	records_completed: run.records_completed,
	bytes: run.bytes,
	unfit_values: run.unfit_values,
	started_at: run.started_at ?? now(),
});

/**
 * Continues a run from its stored position.
 * @returns how many milliseconds to wait before the next call; null if the run has ended, or if another attempt has taken
 * over
 */
export async function continueRun(attempt: Attempt, budget = newBudget()): Promise<number | null> {
	const progress = progressOf(attempt);
	const heartbeat = setInterval(() => beat(attempt), HEARTBEAT_MS);
	try {
		return (await transferRows(attempt, budget, progress)) ? null : 0;
	} catch (error) {
		if (error instanceof SupersededError) return null;
		const latest_error = reason(error);
		const tries = progress.tries + 1;
		if (error instanceof MisconfiguredError || tries >= MAX_TRIES) {
			const status = error instanceof MisconfiguredError ? "Failed" : "FailedRetryable";
			await endRun(attempt, { ...progress, status, latest_error });
			return null;
		}
		const wait_ms = delayAfter(tries, error);
		await countTry(attempt, { tries, latest_error, wait_ms });
		return wait_ms;
	} finally {
		clearInterval(heartbeat);
	}
}

/**
 * Reports that the attempt is alive, even after the run was cancelled: if some files have appeared, all of them must, before a
 * tick removes the unfinished output.
 */
const beat = ({ env, ref }: Attempt) =>
	drizzle(env.DB)
		.update(batchExportRuns)
		.set({ status: sql`iif(${isCurrent(ref)}, 'Running', ${status})`, last_updated_at: now() })
		.where(and(isRun(ref), eq(batchExportRuns.attempt, ref.attempt)))
		// The next heartbeat may succeed.
		.catch(() => {});

/** Stores and logs a failed try and the time of the next one. */
async function countTry(
	{ env, ref, loaded, begun }: Attempt,
	{ tries, latest_error, wait_ms }: { tries: number; latest_error: string; wait_ms: number },
) {
	const db = drizzle(env.DB);
	const next_try_at = iso(Date.now() + wait_ms);
	await db.batch([
		...withLogEntry(
			db,
			db
				.update(batchExportRuns)
				.set({ ...begun, tries, next_try_at, latest_error, last_updated_at: now() })
				.where(isCurrent(ref)),
			{
				...logOf(loaded.run),
				level: "WARNING",
				message: `Failure ${tries} of ${MAX_TRIES} in a row: ${sentence(latest_error)} The run continues at ${next_try_at}.`,
			},
		),
	]);
}

/**
 * Ends a run after all retries of its step have failed.
 * @returns the next run of the series; null if there is none
 */
export async function giveUp(env: Env, ref: AttemptRef, error: unknown): Promise<Turn | null> {
	const attempt = await openAttempt(env, ref);
	if (!attempt) return null;
	const { run } = attempt.loaded;
	await endRun(attempt, {
		...run,
		started_at: run.started_at ?? now(),
		status: "FailedRetryable",
		latest_error: reason(error),
	});
	const next = await afterRun(attempt);
	return next && { ...next, wait_ms: 0 };
}

/** Releases a run, so that the next tick starts another instance for it. */
export const release = async (env: Env, ref: AttemptRef) => {
	await drizzle(env.DB)
		.update(batchExportRuns)
		.set({ launched: false, last_updated_at: now() })
		.where(isCurrent(ref));
};

/**
 * Follows up on a run that has ended: pauses the export if too many runs have failed, and adds the backfill's next run.
 * @returns the next run of the series; null if there is none, or if another attempt has taken over
 */
export async function afterRun({ env, ref, loaded }: Attempt): Promise<AttemptRef | null> {
	const db = drizzle(env.DB);
	const { attempt, finished_at, status, backfill_id } = loaded.run;
	if (attempt !== ref.attempt || finished_at === null) return null;
	if (status === "Failed") await pauseIfFailing(env, loaded);
	if (backfill_id !== null) await advanceBackfill(db, { ...loaded.run, id: backfill_id });
	return claimNext(db, loaded.run);
}
