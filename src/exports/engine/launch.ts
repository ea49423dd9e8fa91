import { and, isNull, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../../db/client.ts";
import { now } from "../../db/now.ts";
import { batchExportRuns } from "../../db/schema/batch_exports.ts";
import { MINUTE_MS } from "../../lib/durations.ts";
import { logWarning } from "../../lib/log.ts";

/** Identifies an attempt of a run. It is the parameter of a Workflow instance. Only the latest attempt may write. */
export type AttemptRef = { batch_export_id: number; run_id: string; attempt: number };

/** The maximum number of instances for `createBatch`. */
const CREATE_BATCH_SIZE = 100;

/** How many runs are launched at once: as many as an account may start in half a minute. */
const LAUNCH_BATCH_SIZE = 3000;

const {
	batch_export_id,
	id,
	status,
	finished_at,
	launched,
	attempt,
	next_try_at,
	last_updated_at,
} = batchExportRuns;

const instanceId = ({ run_id, attempt }: Pick<AttemptRef, "run_id" | "attempt">) =>
	`${run_id}-${attempt}`;

/**
 * The condition for runs that can be launched. The runs of a schedule run one after another, and so do the runs of a backfill.
 * While an export is paused, its scheduled runs wait, except for retries.
 */
export const waiting = sql`not ${launched} and (backfill_id is not null or ${attempt} > 0 or exists (
	select 1 from batch_exports as e where e.id = batch_export_runs.batch_export_id and not e.paused))
	and not exists (select 1 from batch_export_runs as earlier
		where earlier.batch_export_id = batch_export_runs.batch_export_id and earlier.backfill_id is batch_export_runs.backfill_id
		and earlier.finished_at is null and earlier.id < batch_export_runs.id)`;

/** A run that misses two heartbeats is considered lost, unless it is waiting for its next try. */
const LOST_MS = 25_000;

/** How long to wait for a queued instance. The number of concurrent instances of an account is limited. */
const QUEUED_MS = 5 * MINUTE_MS;

/** The status of this many instances that haven't started is checked. */
const STATUS_BATCH_SIZE = 20;

/** The condition for runs whose last heartbeat is before `before`. */
const lost = (before: number) =>
	sql`${launched} and ${last_updated_at} < ${before} and coalesce(${next_try_at}, 0) < ${before}`;

const statusOf = (env: Env, run: Pick<AttemptRef, "run_id" | "attempt">) =>
	env.EXPORT_RUNS.get(instanceId(run))
		.then((instance) => instance.status())
		.then(
			({ status }) => status,
			() => "unknown",
		);

/**
 * Starts another attempt of each lost run. While instances are queued, waits longer for runs that haven't started yet, because
 * another instance would only make the queue longer.
 */
export async function launchLost(env: Env, at: number) {
	const isLost = lost(at - LOST_MS);
	const hasStarted = sql`${status} = 'Running'`;
	const unstarted = await drizzle(env.DB)
		.select({ run_id: id, attempt })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), isLost, sql`not ${hasStarted}`))
		.orderBy(last_updated_at)
		.limit(STATUS_BATCH_SIZE);
	const statuses = await Promise.all(unstarted.map((run) => statusOf(env, run)));
	await launch(
		env,
		statuses.includes("queued")
			? sql`(${isLost} and ${hasStarted} or ${lost(at - QUEUED_MS)})`
			: isLost,
	);
}

/** Begins a new attempt of each of the runs that `chosen` selects. */
const claim = (db: Database, chosen: SQL): Promise<AttemptRef[]> =>
	db
		.update(batchExportRuns)
		.set({
			launched: true,
			attempt: sql`${attempt} + 1`,
			status: "Starting",
			next_try_at: null,
			last_updated_at: now(),
		})
		// SQLite may not use the whole primary key for an IN of row values.
		.from(sql`(${chosen}) as chosen`)
		.where(sql`${batch_export_id} = chosen.batch_export_id and ${id} = chosen.id`)
		.returning({ batch_export_id, run_id: id, attempt });

/**
 * Claims the next waiting run of a series (one schedule or one backfill) for the calling instance.
 * @returns null if no run is waiting, or if another instance has claimed it
 */
export async function claimNext(
	db: Database,
	of: Pick<typeof batchExportRuns.$inferSelect, "batch_export_id" | "backfill_id">,
): Promise<AttemptRef | null> {
	const series = sql`${batch_export_id} = ${of.batch_export_id}
		and ${batchExportRuns.backfill_id} is ${of.backfill_id}`;
	const next = db
		.select({ batch_export_id, id })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), series, waiting))
		.orderBy(id)
		.limit(1);
	const [claimed] = await claim(db, next.getSQL());
	return claimed ?? null;
}

/**
 * Starts a Workflow instance for each unfinished run that meets `condition`, longest waiting first. The next tick launches the
 * runs whose instances couldn't be created.
 */
export async function launch(env: Env, condition: SQL) {
	const db = drizzle(env.DB);
	const chosen = db
		.select({ batch_export_id, id })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), condition))
		// No index has this order: it would be written with each heartbeat, while unfinished runs are few.
		.orderBy(last_updated_at)
		.limit(LAUNCH_BATCH_SIZE);
	const starts = await claim(db, chosen.getSQL());
	for (let i = 0; i < starts.length; i += CREATE_BATCH_SIZE)
		try {
			await start(env, starts.slice(i, i + CREATE_BATCH_SIZE));
		} catch (error) {
			logWarning("Runs of exports were not started; the next tick tries again", error);
			return unlaunch(db, starts.slice(i));
		}
}

/** Marks the runs of these attempts as not launched, so that the next tick launches them. */
async function unlaunch(db: Database, starts: AttemptRef[]) {
	await db
		.update(batchExportRuns)
		.set({ launched: false })
		.from(sql`json_each(${JSON.stringify(starts)})`)
		.where(
			sql`${batch_export_id} = value ->> 'batch_export_id' and ${id} = value ->> 'run_id'
				and ${attempt} = value ->> 'attempt'`,
		);
}

const start = (env: Env, starts: AttemptRef[]) =>
	env.EXPORT_RUNS.createBatch(
		starts.map((params) => ({
			id: instanceId(params),
			params,
		})),
	);
