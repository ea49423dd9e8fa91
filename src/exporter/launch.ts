import { and, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../db/client.ts";
import { iso, now } from "../db/now.ts";
import { batchExportRuns } from "../db/schema/batch_exports.ts";
import { MINUTE_MS } from "../http/durations.ts";
import { logWarning } from "../log/log.ts";

/** Identifies an attempt of a run. It is the parameter of a Workflow instance. Only the latest attempt may write. */
export type AttemptRef = { run_id: string; attempt: number };

/** The maximum number of instances for `createBatch`. */
const CREATE_BATCH_SIZE = 100;

/** How many runs are launched at once: as many as an account may start in half a minute. */
const LAUNCH_BATCH_SIZE = 3000;

const { id, status, finished_at, launched, attempt, next_try_at, last_updated_at } =
	batchExportRuns;

const instanceId = ({ run_id, attempt }: AttemptRef) => `${run_id}-${attempt}`;

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
const lost = (before: string) =>
	sql`${launched} and ${last_updated_at} < ${before} and coalesce(${next_try_at}, '') < ${before}`;

const statusOf = (env: Env, { run_id, attempt }: AttemptRef) =>
	env.EXPORT_RUNS.get(instanceId({ run_id, attempt }))
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
	const isLost = lost(iso(at - LOST_MS));
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
			? sql`(${isLost} and ${hasStarted} or ${lost(iso(at - QUEUED_MS))})`
			: isLost,
	);
}

/**
 * Claims the next waiting run of a series (one schedule or one backfill) for the calling instance.
 * @returns null if no run is waiting, or if another instance has claimed it
 */
export async function claimNext(
	db: Database,
	{
		batch_export_id,
		backfill_id,
	}: Pick<typeof batchExportRuns.$inferSelect, "batch_export_id" | "backfill_id">,
): Promise<AttemptRef | null> {
	const series = sql`${batchExportRuns.batch_export_id} = ${batch_export_id}
		and ${batchExportRuns.backfill_id} is ${backfill_id}`;
	const next = db
		.select({ id })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), series, waiting))
		.orderBy(id)
		.limit(1);
	const [claimed] = await db
		.update(batchExportRuns)
		.set({
			launched: true,
			attempt: sql`${attempt} + 1`,
			status: "Starting",
			last_updated_at: now(),
		})
		.where(inArray(id, next))
		.returning({ run_id: id, attempt });
	return claimed ?? null;
}

/**
 * Starts a Workflow instance for each unfinished run that meets `condition`, longest waiting first. The next tick launches the
 * runs whose instances couldn't be created.
 */
export async function launch(env: Env, condition: SQL) {
	const db = drizzle(env.DB);
	const chosen = db
		.select({ id })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), condition))
		// An index that contains only unfinished runs has this order. To order by id, SQLite would read all runs.
		.orderBy(last_updated_at)
		.limit(LAUNCH_BATCH_SIZE);
	const starts: AttemptRef[] = await db
		.update(batchExportRuns)
		.set({
			launched: true,
			attempt: sql`${attempt} + 1`,
			status: "Starting",
			next_try_at: null,
			last_updated_at: now(),
		})
		.where(inArray(id, chosen))
		.returning({ run_id: id, attempt });
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
		.where(
			sql`(${id}, ${attempt}) in (select value ->> 'run_id', value ->> 'attempt'
				from json_each(${JSON.stringify(starts)}))`,
		);
}

const start = (env: Env, starts: AttemptRef[]) =>
	env.EXPORT_RUNS.createBatch(
		starts.map((params) => ({
			id: instanceId(params),
			params,
		})),
	);
