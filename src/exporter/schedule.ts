import { and, eq, inArray, isNotNull, isNull, lt, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { v7 } from "uuid";
import { type Database, deleteOlderThan, insertEach } from "../db/client.ts";
import {
	batchExportBackfills,
	batchExportLogEntries,
	batchExportRuns,
	batchExports,
} from "../db/schema.ts";
import { mailUndelivered } from "./alerts.ts";
import { clean } from "./end.ts";
import { launch, launchLost, waiting } from "./launch.ts";
import { pluralize } from "./run_log.ts";
import { advance } from "./series.ts";
import { dueWindows, MAX_CATCH_UP_WINDOWS } from "./windows.ts";

/**
 * As many exports as one batch schedules, whose missed runs are one value of D1 (at most 2,000,000 bytes), and as many
 * batches as a tick takes.
 */
const BATCH_SIZE = 300;
const MAX_BATCHES_PER_TICK = 30;

/** How long what a run left behind waits for the run itself to remove it, and between two tries to. */
const CLEANUP_AGE_MS = 60_000;

/** How many of the rare things a tick does: backfills that stand still, leftovers, deleted exports. */
const CLEANUP_BATCH_SIZE = 50;

/** How many runs of deleted exports a tick removes. */
const PURGE_BATCH_SIZE = 5000;

/** How long log entries, and what was deleted, are kept. */
const RETENTION_MS = 7 * 86_400_000;

const iso = (at: number) => new Date(at).toISOString();

/**
 * What happens every minute: runs of the windows that are due are made, each once, and started; so are those that
 * nothing is heard of, and the next of backfills that stand still; admins are told of windows that were not delivered; what
 * ended runs left behind is removed.
 */
export async function tick(env: Env, scheduledTime: number) {
	const db = drizzle(env.DB);
	for (let i = 0; i < MAX_BATCHES_PER_TICK; i += 1)
		if ((await makeRuns(db, scheduledTime)) < BATCH_SIZE) break;
	await moveBackfills(db);
	await launch(env, waiting);
	await launchLost(env, scheduledTime);
	await mailUndelivered(env, scheduledTime);
	await cleanUp(env, scheduledTime);
}

/** Makes the runs that are due of at most `A_BATCH` exports; answers how many exports it were. */
async function makeRuns(db: Database, at: number) {
	const due = await db
		.select({
			id: batchExports.id,
			interval: batchExports.interval,
			start_at: batchExports.start_at,
			end_at: batchExports.end_at,
			next_end_at: batchExports.next_end_at,
			due_at: batchExports.due_at,
		})
		.from(batchExports)
		.where(
			and(
				sql`not ${batchExports.paused} and not ${batchExports.deleted}`,
				lte(batchExports.due_at, iso(at)),
			),
		)
		.orderBy(batchExports.due_at)
		.limit(BATCH_SIZE);
	if (due.length === 0) return 0;
	const plans = due.map((one) => ({ one, ...dueWindows(one, at) }));
	const of = ({ one }: (typeof plans)[number]) => ({
		id: v7(),
		batch_export_id: one.id,
		due: one.due_at,
		interval: one.interval,
	});
	const runs = plans.flatMap((plan) =>
		plan.windows.map(({ start, end }) => ({
			...of(plan),
			data_interval_start: start,
			data_interval_end: end,
		})),
	);
	const words = plans
		.filter(({ passed }) => passed > 0)
		.map((plan) => ({
			...of(plan),
			level: "WARNING" as const,
			message: `Passed over: ${pluralize(plan.passed, "window")}, from the one that ended at ${plan.one.next_end_at} on. At most ${MAX_CATCH_UP_WINDOWS} are caught up; a backfill exports the others.`,
		}));
	const moves = plans.map((plan) => ({
		...of(plan),
		...plan.next,
		passed: plan.passed,
	}));
	/** The export is as it was read: two ticks at once make no run twice, and what was changed meanwhile stands. */
	const still = sql`exists (select 1 from batch_exports as e where e.id = value ->> 'batch_export_id'
		and e.due_at = value ->> 'due' and e.interval = value ->> 'interval' and not e.paused and not e.deleted)`;
	const { last_updated_at, undelivered_windows } = batchExports;
	await db.batch([
		insertEach(db, batchExportRuns, runs, still).onConflictDoNothing(),
		insertEach(db, batchExportLogEntries, words, still),
		db
			.update(batchExports)
			.set({
				next_end_at: sql`value ->> 'next_end_at'`,
				due_at: sql`value ->> 'due_at'`,
				undelivered_windows: sql`${undelivered_windows} + (value ->> 'passed')`,
				last_updated_at: sql`${last_updated_at}`,
			})
			.from(sql`json_each(${JSON.stringify(moves)})`)
			.where(sql`${batchExports.id} = value ->> 'batch_export_id' and ${still}`),
	]);
	return due.length;
}

/** Gives backfills that stand still, since what should have gone on with them is gone, their next run. */
async function moveBackfills(db: Database) {
	const idle = await db
		.select({ id: batchExportBackfills.id })
		.from(batchExportBackfills)
		.where(
			and(
				eq(batchExportBackfills.status, "Running"),
				sql`not exists (select 1 from batch_export_runs as open
					where open.batch_export_id = ${batchExportBackfills.batch_export_id} and open.finished_at is null
					and open.backfill_id = ${batchExportBackfills.id})`,
			),
		)
		.limit(CLEANUP_BATCH_SIZE);
	for (const { id } of idle) await advance(db, id);
}

async function cleanUp(env: Env, at: number) {
	const db = drizzle(env.DB);
	const { timestamp } = batchExportLogEntries;
	await db.batch([
		deleteOlderThan(
			db,
			batchExportLogEntries,
			batchExportLogEntries.id,
			timestamp,
			iso(at - RETENTION_MS),
		),
		...purgeDeleted(db, iso(at - RETENTION_MS)),
	]);
	// Last, since it may have to wait for each of them.
	const left = await db
		.select({ id: batchExportRuns.id })
		.from(batchExportRuns)
		.where(
			and(
				isNotNull(batchExportRuns.finished_at),
				isNotNull(batchExportRuns.state),
				lt(batchExportRuns.last_updated_at, iso(at - CLEANUP_AGE_MS)),
			),
		)
		.orderBy(batchExportRuns.last_updated_at)
		.limit(CLEANUP_BATCH_SIZE);
	for (const { id } of left) await clean(env, id);
}

/** The statements that remove what was deleted before a moment: runs first, so that none takes long. */
function purgeDeleted(db: Database, before: string) {
	const dead = and(sql`${batchExports.deleted}`, lt(batchExports.last_updated_at, before));
	const runs = db
		.select({ id: batchExportRuns.id })
		.from(batchExports)
		// In this order: SQLite keeps to that of a cross join, and would else look for the exports of all runs.
		.crossJoin(batchExportRuns)
		.where(
			and(
				dead,
				eq(batchExportRuns.batch_export_id, batchExports.id),
				isNotNull(batchExportRuns.finished_at),
				isNull(batchExportRuns.state),
			),
		)
		.limit(PURGE_BATCH_SIZE);
	const empty = db
		.select({ id: batchExports.id })
		.from(batchExports)
		.where(and(dead, eq(batchExports.runs, 0), eq(batchExports.log_entries, 0)))
		.limit(CLEANUP_BATCH_SIZE);
	return [
		db.delete(batchExportRuns).where(inArray(batchExportRuns.id, runs)),
		db.delete(batchExports).where(inArray(batchExports.id, empty)),
	];
}
