import { and, isNull, lt, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../../db/client.ts";
import { batchExportRuns } from "../../db/schema/batch_exports.ts";
import { NO_LEASE, newLease } from "../../delivery/lease.ts";
import { logWarning } from "../../lib/log.ts";
import { iso, MINUTE_MS, now } from "../../lib/time.ts";

/** A lease on a run, held by a Workflow instance, whose parameter it is. */
export type RunLease = { batch_export_id: number; run_id: string; lease: number };

/** The maximum number of instances for `createBatch`. */
const CREATE_BATCH_SIZE = 100;

/** As many runs as an account may start in half a minute. */
const START_BATCH_SIZE = 3000;

const { batch_export_id, id, status, finished_at, lease, lease_expires_at, last_updated_at } =
	batchExportRuns;

const instanceId = ({ run_id, lease }: Pick<RunLease, "run_id" | "lease">) => `${run_id}-${lease}`;

/**
 * SQL condition: the run can be launched. The runs of a schedule run one after another, and so do
 * those of a backfill. While an export is paused, its scheduled runs wait, except for retries. All
 * wait while the organization is moving.
 */
export const isQueued = sql`${lease_expires_at} is null and (backfill_id is not null or ${lease} > 0 or exists (
	select 1 from batch_exports as e where e.id = batch_export_runs.batch_export_id and not e.paused))
	and not exists (select 1 from batch_export_runs as earlier
		where earlier.batch_export_id = batch_export_runs.batch_export_id and earlier.backfill_id is batch_export_runs.backfill_id
		and earlier.finished_at is null and earlier.id < batch_export_runs.id)
	and batch_export_runs.batch_export_id not in (select e.id from organizations as o
		join batch_exports as e on e.organization_id = o.id where o.moving is not null)`;

/** SQL condition, which repeats a part of `isQueued`: a pause delays the run until it is resumed. */
export const hasNotBegun = sql`backfill_id is null and lease = 0 and lease_expires_at is null`;

/** The length of a lease, which each heartbeat extends: until two of them are missed. */
const LEASE_MS = 25_000;

/** How long to wait for a queued instance: an account has a limited number of concurrent ones. */
const MAX_QUEUED_MS = 5 * MINUTE_MS;

/** The status of this many instances that haven't started is checked. */
const STATUS_BATCH_SIZE = 20;

/** Returns the end of a lease whose holder continues after `wait` milliseconds. */
export const leaseEnd = (wait = 0) => iso(Date.now() + wait + LEASE_MS);

const statusOf = (env: Env, run: Pick<RunLease, "run_id" | "lease">) =>
	env.EXPORT_RUNS.get(instanceId(run))
		.then((instance) => instance.status())
		.then(
			({ status }) => status,
			() => "unknown",
		);

/**
 * Starts another attempt of each run whose instance was lost. While instances are queued, waits
 * longer for runs that haven't started yet: another instance would only make the queue longer.
 */
export async function restartLostRuns(env: Env, at: number) {
	const isLost = lt(lease_expires_at, iso(at));
	const hasStarted = sql`${status} = 'Running'`;
	const unstarted = await drizzle(env.DB)
		.select({ run_id: id, lease })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), isLost, sql`not ${hasStarted}`))
		.orderBy(last_updated_at)
		.limit(STATUS_BATCH_SIZE);
	const statuses = await Promise.all(unstarted.map((run) => statusOf(env, run)));
	await startRuns(
		env,
		statuses.includes("queued")
			? sql`(${isLost} and ${hasStarted} or ${lease_expires_at} < ${at - MAX_QUEUED_MS + LEASE_MS})`
			: isLost,
	);
}

/** Takes a lease on each of the runs that `chosen` selects. */
const take = (db: Database, chosen: SQL): Promise<RunLease[]> =>
	db
		.update(batchExportRuns)
		.set({
			...newLease(batchExportRuns, leaseEnd()),
			status: "Starting",
			last_updated_at: now(),
		})
		// SQLite may not use the whole primary key for an IN of row values.
		.from(sql`(${chosen}) as chosen`)
		.where(sql`${batch_export_id} = chosen.batch_export_id and ${id} = chosen.id`)
		.returning({ batch_export_id, run_id: id, lease });

/**
 * Takes a lease on the next waiting run of a series (one schedule or one backfill) for the calling
 * instance.
 * @returns null if no run is waiting, or if another instance has taken it
 */
export async function takeNext(
	db: Database,
	of: Pick<typeof batchExportRuns.$inferSelect, "batch_export_id" | "backfill_id">,
): Promise<RunLease | null> {
	const series = sql`${batch_export_id} = ${of.batch_export_id}
		and ${batchExportRuns.backfill_id} is ${of.backfill_id}`;
	const next = db
		.select({ batch_export_id, id })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), series, isQueued))
		.orderBy(id)
		.limit(1);
	const [taken] = await take(db, next.getSQL());
	return taken ?? null;
}

/**
 * Starts a Workflow instance for each unfinished run that meets `condition`, longest waiting first.
 * The next tick launches those that couldn't be started.
 */
export async function startRuns(env: Env, condition: SQL) {
	const db = drizzle(env.DB);
	const chosen = db
		.select({ batch_export_id, id })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), condition))
		// Few runs are unfinished. An index of this order would be written with each heartbeat.
		.orderBy(last_updated_at)
		.limit(START_BATCH_SIZE);
	const starts = await take(db, chosen.getSQL());
	for (let i = 0; i < starts.length; i += CREATE_BATCH_SIZE)
		try {
			await createInstances(env, starts.slice(i, i + CREATE_BATCH_SIZE));
		} catch (error) {
			logWarning("Runs of exports were not started; the next tick tries again", error);
			return endLeases(db, starts.slice(i));
		}
}

async function endLeases(db: Database, starts: RunLease[]) {
	await db
		.update(batchExportRuns)
		.set(NO_LEASE)
		.from(sql`json_each(${JSON.stringify(starts)})`)
		.where(
			sql`${batch_export_id} = value ->> 'batch_export_id' and ${id} = value ->> 'run_id'
				and ${lease} = value ->> 'lease'`,
		);
}

const createInstances = (env: Env, starts: RunLease[]) =>
	env.EXPORT_RUNS.createBatch(starts.map((params) => ({ id: instanceId(params), params })));

/** SQL for the number of runs with these ids that an export has. `ids` is SQL for a JSON array. */
export const countInserted = (batch_export_id: SQL, ids: SQL) =>
	sql<number>`(select count(*) from json_each(${ids}) as inserted join batch_export_runs as run
		on run.batch_export_id = ${batch_export_id} and run.id = inserted.value)`;
