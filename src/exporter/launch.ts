import { and, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../db/client.ts";
import { batchExportRuns, now } from "../db/schema.ts";

/** What an instance of the workflow is given. Only the latest attempt writes of its run. */
export type Launched = { run_id: string; attempt: number };

/** As many instances as one call makes. */
const TICK_BATCH_SIZE = 100;

/** As many runs as are begun at once: what an account may start in half a minute. */
const LAUNCH_BATCH_SIZE = 3000;

const { id, status, finished_at, launched, attempt, next_try_at, last_updated_at } =
	batchExportRuns;

/** The id of the workflow instance of an attempt. */
const instanceId = ({ run_id, attempt }: Launched) => `${run_id}-${attempt}`;

/**
 * Runs that wait, and whose turn it is: those of one schedule go one after another, as do those of one backfill. While
 * an export is paused, its schedule's wait on, but for what is tried again.
 */
export const waiting = sql`not ${launched} and (backfill_id is not null or ${attempt} > 0 or exists (
	select 1 from batch_exports as e where e.id = batch_export_runs.batch_export_id and not e.paused))
	and not exists (select 1 from batch_export_runs as earlier
		where earlier.batch_export_id = batch_export_runs.batch_export_id and earlier.backfill_id is batch_export_runs.backfill_id
		and earlier.finished_at is null and earlier.id < batch_export_runs.id)`;

/** A run that misses two heartbeats is taken for gone. A wait between two tries is no silence. */
const LOST_MS = 25_000;

/** How long an instance may be waited for that is queued: an account runs a limited number of them at once. */
const QUEUED_MS = 5 * 60_000;

/** How many of the instances that have not begun are asked whether they are queued. */
const STATUS_BATCH_SIZE = 20;

/** Runs of which nothing was heard since `before`. */
const lost = (before: string) =>
	sql`${launched} and ${last_updated_at} < ${before} and coalesce(${next_try_at}, '') < ${before}`;

const statusOf = (env: Env, { run_id, attempt }: Launched) =>
	env.EXPORT_RUNS.get(instanceId({ run_id, attempt }))
		.then((instance) => instance.status())
		.then(
			({ status }) => status,
			() => "unknown",
		);

/**
 * Starts another attempt at each run of which nothing is heard any more. While instances that were to begin are
 * still queued, those that have not begun are waited for: to start them again would make the queue longer.
 */
export async function launchLost(env: Env, at: number) {
	const before = (ms: number) => new Date(at - ms).toISOString();
	const gone = lost(before(LOST_MS));
	const begun = sql`${status} = 'Running'`;
	const asked = await drizzle(env.DB)
		.select({ run_id: id, attempt })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), gone, sql`not ${begun}`))
		.orderBy(last_updated_at)
		.limit(STATUS_BATCH_SIZE);
	const statuses = await Promise.all(asked.map((one) => statusOf(env, one)));
	await launch(
		env,
		statuses.includes("queued") ? sql`(${gone} and ${begun} or ${lost(before(QUEUED_MS))})` : gone,
	);
}

/**
 * Takes the next run that waits in the series of a run, for the instance that asks; null: none does, or another was faster.
 */
export async function claimNext(
	db: Database,
	{
		batch_export_id,
		backfill_id,
	}: Pick<typeof batchExportRuns.$inferSelect, "batch_export_id" | "backfill_id">,
): Promise<Launched | null> {
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
 * Starts an instance of the workflow for each of the unfinished runs that are `which`, what waits longest first. Those
 * that could not be started wait for the clock.
 */
export async function launch(env: Env, which: SQL) {
	const db = drizzle(env.DB);
	const chosen = db
		.select({ id })
		.from(batchExportRuns)
		.where(and(isNull(finished_at), which))
		// By an index that has none that are finished: to be ordered by id, all runs there ever were would be read.
		.orderBy(last_updated_at)
		.limit(LAUNCH_BATCH_SIZE);
	const starts: Launched[] = await db
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
	for (let i = 0; i < starts.length; i += TICK_BATCH_SIZE)
		await start(env, starts.slice(i, i + TICK_BATCH_SIZE)).catch(async (error: unknown) => {
			console.error(
				JSON.stringify({
					warning: "Runs were not started",
					error: String(error),
				}),
			);
			await db
				.update(batchExportRuns)
				.set({ launched: false })
				.where(
					sql`(${id}, ${attempt}) in (select value ->> 'run_id', value ->> 'attempt'
							from json_each(${JSON.stringify(starts.slice(i))}))`,
				);
		});
}

const start = (env: Env, starts: Launched[]) =>
	env.EXPORT_RUNS.createBatch(
		starts.map((params) => ({
			id: instanceId(params),
			params,
		})),
	);
