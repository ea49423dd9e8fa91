import { and, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../db/client.ts";
import { batchExportRuns, now } from "../db/schema.ts";

/** What an instance of the workflow is given. Only the latest attempt writes of its run. */
export type Launched = { run_id: string; attempt: number };

/** As many instances as one call makes. */
const A_BATCH = 100;

/** As many runs as are begun at once: what an account may start in half a minute. */
const A_LAUNCH = 3000;

const { id, finished_at, launched, attempt, last_updated_at } = batchExportRuns;

/**
 * Runs that wait, and whose turn it is: those of one schedule go one after another, as do those of one backfill. While
 * an export is paused, its schedule's wait on, but for what is tried again.
 */
export const waiting = sql`not ${launched} and (backfill_id is not null or ${attempt} > 0 or exists (
	select 1 from batch_exports as e where e.id = batch_export_runs.batch_export_id and not e.paused))
	and not exists (select 1 from batch_export_runs as earlier
		where earlier.batch_export_id = batch_export_runs.batch_export_id and earlier.backfill_id is batch_export_runs.backfill_id
		and earlier.finished_at is null and earlier.id < batch_export_runs.id)`;

/** Runs of which nothing was heard since `before`: what ran them is gone. */
export const lost = (before: string) =>
	sql`${launched} and ${last_updated_at} < ${before}`;

/**
 * Takes the next run that waits in the series of a run, for the instance that asks; null: none does, or another was faster.
 */
export async function claimNext(
	db: Database,
	{
		batch_export_id,
		backfill_id,
	}: Pick<
		typeof batchExportRuns.$inferSelect,
		"batch_export_id" | "backfill_id"
	>,
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
			status: "Running",
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
		.limit(A_LAUNCH);
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
	for (let i = 0; i < starts.length; i += A_BATCH)
		await start(env, starts.slice(i, i + A_BATCH)).catch(
			async (error: unknown) => {
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
			},
		);
}

const start = (env: Env, starts: Launched[]) =>
	env.EXPORT_RUNS.createBatch(
		starts.map((params) => ({
			id: `${params.run_id}-${params.attempt}`,
			params,
		})),
	);
