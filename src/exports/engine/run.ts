import { and, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { runBatch } from "../../db/client.ts";
import { batchExportRuns } from "../../db/schema/batch_exports.ts";
import { retryAfterOf } from "../../delivery/backoff.ts";
import { NO_LEASE } from "../../delivery/lease.ts";
import { iso, now } from "../../lib/time.ts";
import { MisconfiguredError, reason, SupersededError, sentence } from "../../outbound/errors.ts";
import { type Attempt, openAttempt } from "./attempt.ts";
import { pauseIfFailing } from "./auto_pause.ts";
import { advanceBackfill } from "./backfill_runs.ts";
import { endRun, type Progress } from "./end.ts";
import { isCurrent, isRun, logOf } from "./loaded.ts";
import { delayAfter, MAX_ATTEMPTS } from "./retries.ts";
import { logWhere } from "./run_log.ts";
import { leaseEnd, type RunLease, takeNext } from "./start_runs.ts";
import { HEARTBEAT_MS, isSpent, newBudget, transferRows } from "./transfer.ts";

const { status, lease, lease_expires_at } = batchExportRuns;

/** The run that an instance continues with, and how long it waits before that. */
export type Turn = RunLease & { wait_ms: number };

/**
 * Continues a run, then the next ones of its series, until one has to wait or the budget of the
 * step is used up.
 * @returns the run to continue with; null if none is left
 */
export async function runSeries(env: Env, first: RunLease): Promise<Turn | null> {
	const budget = newBudget();
	for (let current = first; ; ) {
		// Statements alone never yield to requests of the local server, which are in the same process.
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
	attempts: run.attempts,
	records_completed: run.records_completed,
	bytes: run.bytes,
	unfit_values: run.unfit_values,
	started_at: run.started_at ?? now(),
});

/**
 * Continues a run from its stored position.
 * @returns how many milliseconds to wait before the next call; null if the run has ended, or
 * another attempt has taken over
 */
export async function continueRun(attempt: Attempt, budget = newBudget()): Promise<number | null> {
	const progress = progressOf(attempt);
	const heartbeat = setInterval(() => beat(attempt), HEARTBEAT_MS);
	try {
		return (await transferRows(attempt, budget, progress)) ? null : 0;
	} catch (error) {
		if (error instanceof SupersededError) return null;
		const latest_error = reason(error);
		const attempts = progress.attempts + 1;
		if (error instanceof MisconfiguredError || attempts >= MAX_ATTEMPTS) {
			const status = error instanceof MisconfiguredError ? "Failed" : "FailedRetryable";
			await endRun(attempt, { ...progress, status, latest_error });
			return null;
		}
		const wait_ms = delayAfter(attempts, retryAfterOf(error));
		await recordFailure(attempt, { attempts, latest_error, wait_ms });
		return wait_ms;
	} finally {
		clearInterval(heartbeat);
	}
}

/**
 * Extends the lease. Reports that the attempt is alive even after the run was cancelled: if some
 * files have appeared, all of them must, before a tick removes the unfinished output.
 */
const beat = ({ env, ref }: Attempt) =>
	drizzle(env.DB)
		.update(batchExportRuns)
		.set({
			status: sql`iif(${isCurrent(ref)}, 'Running', ${status})`,
			// null, if the lease has been ended, stays null.
			lease_expires_at: sql`max(${lease_expires_at}, ${Date.parse(leaseEnd())})`,
			last_updated_at: now(),
		})
		.where(and(isRun(ref), eq(lease, ref.lease)))
		// The next heartbeat may succeed.
		.catch(() => {});

/** Stores and logs a failed attempt. The lease lasts until after the next one has begun. */
async function recordFailure(
	{ env, ref, loaded, begun }: Attempt,
	{ attempts, latest_error, wait_ms }: { attempts: number; latest_error: string; wait_ms: number },
) {
	const db = drizzle(env.DB);
	const entry = {
		...logOf(loaded.run),
		level: "WARNING" as const,
		message: `Failure ${attempts} of ${MAX_ATTEMPTS} in a row: ${sentence(latest_error)} The run continues at ${iso(Date.now() + wait_ms)}.`,
	};
	const set = {
		...begun,
		attempts,
		latest_error,
		lease_expires_at: leaseEnd(wait_ms),
		last_updated_at: now(),
	};
	await runBatch(db, {
		log: logWhere(db, entry, sql`exists (select 1 from batch_export_runs where ${isCurrent(ref)})`),
		run: db.update(batchExportRuns).set(set).where(isCurrent(ref)),
	});
}

/** Ends a run whose step failed. Returns the next run of the series, or null. */
export async function giveUp(env: Env, ref: RunLease, error: unknown): Promise<Turn | null> {
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

/** Ends the lease on a run, so that the next tick starts another instance for it. */
export const release = async (env: Env, ref: RunLease) => {
	await drizzle(env.DB)
		.update(batchExportRuns)
		.set({ ...NO_LEASE, last_updated_at: now() })
		.where(isCurrent(ref));
};

/**
 * Follows up on a run that has ended: pauses the export if too many have failed, and adds the
 * backfill's next run.
 * @returns the next run of the series; null if there is none, or another attempt has taken over
 */
export async function afterRun({ env, ref, loaded }: Attempt): Promise<RunLease | null> {
	const db = drizzle(env.DB);
	const { lease, finished_at, status, backfill_id } = loaded.run;
	if (lease !== ref.lease || finished_at === null) return null;
	if (status === "Failed") await pauseIfFailing(env, loaded);
	if (backfill_id !== null) await advanceBackfill(db, { ...loaded.run, id: backfill_id });
	return takeNext(db, loaded.run);
}
