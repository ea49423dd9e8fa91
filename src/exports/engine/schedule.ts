import { and, eq, inArray, isNotNull, isNull, lt, lte, notExists, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { v7 } from "uuid";
import { type Database, insertEach } from "../../db/client.ts";
import type { SystemKind } from "../../db/event_types.ts";
import { insertEntries } from "../../db/record.ts";
import {
	batchExportBackfills,
	batchExportLogs,
	batchExportRanges,
	batchExportRuns,
	batchExports,
} from "../../db/schema/batch_exports.ts";
import { notMoving } from "../../db/schema/organizations.ts";
import { appendEach, deleteExpired } from "../../db/stored_log.ts";
import { forEachLogged, runSequentially } from "../../lib/background.ts";
import { iso, MINUTE_MS, now } from "../../lib/time.ts";
import { advanceBackfill } from "./backfill_runs.ts";
import { clean } from "./clean.ts";
import { EXPIRED, removeOneOffs } from "./expired.ts";
import { foldOldRuns } from "./fold.ts";
import { GRID, gridOf } from "./grid.ts";
import { loadRun } from "./loaded.ts";
import { EXPORT_LOGS } from "./run_log.ts";
import { countInserted, isQueued, restartLostRuns, startRuns } from "./start_runs.ts";
import { passedOver } from "./undelivered.ts";
import { describeSkipped, dueWindows, howToExport, LIMIT, type Skipped } from "./windows.ts";

/** Exports in a batch. Their missed runs are one value, which D1 limits to 2,000,000 bytes. */
const BATCH_SIZE = 300;
const MAX_BATCHES_PER_TICK = 30;

/** How long a run has to remove its own unfinished output, and between two attempts at it. */
const CLEANUP_AGE_MS = MINUTE_MS;

/** Rows of each kind in a tick: stalled backfills, unfinished output, deleted exports. */
const CLEANUP_BATCH_SIZE = 25;

/** Runs of deleted exports that a tick deletes. */
const PURGE_BATCH_SIZE = 5000;

/** Names of parts in the log. */
const STALLED = "stalled backfills";
const LEFTOVERS = "unfinished output of runs";

export async function runDueExports(env: Env, scheduledTime: number) {
	const db = drizzle(env.DB);
	await runSequentially({
		"windows of exports": () => insertAllDueRuns(db, scheduledTime),
		[STALLED]: () => advanceBackfills(db),
		"runs to launch": () => startRuns(env, isQueued),
		"lost runs": () => restartLostRuns(env, scheduledTime),
		"old exports": () => deleteOld(db, scheduledTime),
		"old runs": () => foldOldRuns(env, scheduledTime),
		[EXPIRED]: () => removeOneOffs(env, scheduledTime),
		// Last, because it waits for destinations.
		[LEFTOVERS]: () => removeLeftovers(env, scheduledTime),
	});
}

async function insertAllDueRuns(db: Database, at: number) {
	for (let i = 0; i < MAX_BATCHES_PER_TICK; i += 1)
		if ((await insertDueRuns(db, at)) < BATCH_SIZE) break;
}

type Due = Pick<
	typeof batchExports.$inferSelect,
	"uuid" | "organization_id" | "project_id" | "name"
>;

/** Selects a batch of the exports that are due, the longest first. */
const selectDue = (db: Database, at: number) =>
	db
		.select({
			row_id: batchExports.id,
			uuid: batchExports.uuid,
			organization_id: batchExports.organization_id,
			project_id: batchExports.project_id,
			name: batchExports.name,
			...gridOf(batchExports),
			start_at: batchExports.start_at,
			end_at: batchExports.end_at,
			next_start_at: batchExports.next_start_at,
			next_end_at: batchExports.next_end_at,
			due_at: batchExports.due_at,
		})
		.from(batchExports)
		.where(
			and(
				sql`not ${batchExports.paused} and ${batchExports.deleted} = 0`,
				lte(batchExports.due_at, iso(at)),
				notMoving(batchExports.organization_id),
			),
		)
		.orderBy(batchExports.due_at)
		.limit(BATCH_SIZE);

/** Inserts the due runs of a batch of exports. Returns how many exports were due. */
async function insertDueRuns(db: Database, at: number) {
	const due = await selectDue(db, at);
	if (due.length === 0) return 0;
	const plans = due.map((row) => ({ row, ...dueWindows({ ...row, id: row.uuid }, at) }));
	const common = ({ row }: Pick<(typeof plans)[number], "row">) => ({
		id: v7(),
		batch_export_id: row.row_id,
		due: row.due_at,
		...gridOf(row),
	});
	const runsOf = plans.map((plan) =>
		plan.windows.map(({ start, end }) => ({
			...common(plan),
			data_interval_start: start,
			data_interval_end: end,
		})),
	);
	const skipping = plans.flatMap(({ skipped, ...plan }) => (skipped ? [{ ...plan, skipped }] : []));
	const entries = skipping.map((plan) => ({
		...common(plan),
		owner: plan.row.row_id,
		entry: { level: "WARNING", message: describeSkipped(plan.skipped) },
	}));
	const events = skipping.map((plan) => ({ ...common(plan), ...eventOf(plan) }));
	const updates = plans.map((plan, i) => ({
		...common(plan),
		...plan.next,
		runs: runsOf[i]?.map(({ id }) => id),
	}));
	const isSameGrid = and(...GRID.map((field) => sql.raw(`e.${field} is value ->> '${field}'`)));
	// So concurrent ticks and requests don't interfere.
	const isUnchanged = sql`exists (select 1 from batch_exports as e where e.id = value ->> 'batch_export_id'
		and e.due_at = value ->> 'due' and ${isSameGrid} and not e.paused and not e.deleted)`;
	await db.batch([
		insertEach(db, batchExportRuns, {
			rows: runsOf.flat(),
			condition: isUnchanged,
		}).onConflictDoNothing(),
		insertEach(db, batchExportRanges, {
			rows: skipping.map((plan) => ({ ...common(plan), ...passedOver(plan.skipped, LIMIT) })),
			condition: isUnchanged,
		}),
		appendEach(db, EXPORT_LOGS, entries, isUnchanged),
		insertEntries(db, events, isUnchanged),
		db
			.update(batchExports)
			.set({
				next_start_at: sql`value ->> 'next_start_at'`,
				next_end_at: sql`value ->> 'next_end_at'`,
				due_at: sql`value ->> 'due_at'`,
				runs: sql`${batchExports.runs} + ${countInserted(sql`${batchExports.id}`, sql`plan.value -> 'runs'`)}`,
				last_updated_at: sql`${batchExports.last_updated_at}`,
			})
			.from(sql`json_each(${JSON.stringify(updates)}) as plan`)
			.where(sql`${batchExports.id} = value ->> 'batch_export_id' and ${isUnchanged}`),
	]);
	return due.length;
}

const SKIPPED: SystemKind = { scope: "BatchExportRun", activity: "skipped" };

/** Returns the event for all windows that an export skips (docs/notifications.md#events). */
function eventOf({ row, skipped }: { row: Due; skipped: Skipped }) {
	return {
		organization_id: row.organization_id,
		project_id: row.project_id,
		is_system: true,
		...SKIPPED,
		item_id: row.uuid,
		name: row.name,
		trigger: {
			batch_export_id: row.uuid,
			windows: skipped.windows,
			data_interval_start: skipped.start,
			data_interval_end: skipped.end,
			error: LIMIT,
			next_step: howToExport(skipped),
		},
	};
}

/**
 * Adds the next run to backfills whose instance no longer exists, least recently changed first. It
 * marks each one as changed, so that one that can't be advanced doesn't block the others.
 */
async function advanceBackfills(db: Database) {
	const { batch_export_id, id } = batchExportBackfills;
	const idle = db
		.select({ batch_export_id, id })
		.from(batchExportBackfills)
		.where(
			and(
				sql`${batchExportBackfills.status} = 'Running'`,
				sql`not exists (select 1 from batch_export_runs as open
					where open.batch_export_id = ${batch_export_id} and open.finished_at is null
					and open.backfill_id = ${id})`,
			),
		)
		.orderBy(batchExportBackfills.last_updated_at)
		.limit(CLEANUP_BATCH_SIZE);
	const chosen = await db
		.update(batchExportBackfills)
		.set({ last_updated_at: now() })
		.from(sql`(${idle.getSQL()}) as idle`)
		.where(sql`${batch_export_id} = idle.batch_export_id and ${id} = idle.id`)
		.returning({ batch_export_id, id });
	await forEachLogged(STALLED, chosen, (backfill) => advanceBackfill(db, backfill));
}

async function deleteOld(db: Database, at: number) {
	await db.batch([deleteExpired(db, EXPORT_LOGS, batchExports, at), ...purgeDeleted(db)]);
}

async function removeLeftovers(env: Env, at: number) {
	const db = drizzle(env.DB);
	const left = await db
		.select({ batch_export_id: batchExportRuns.batch_export_id, run_id: batchExportRuns.id })
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
	await forEachLogged(LEFTOVERS, left, async (run) => {
		const loaded = await loadRun(db, run);
		if (loaded) await clean(env, loaded);
	});
}

/**
 * Returns the statements that delete exports that can't be restored, and first their runs. One-off
 * exports have files that are removed first (expired.ts).
 */
function purgeDeleted(db: Database) {
	const dead = sql`${batchExports.deleted} and ${batchExports.deleted} = 1 and not ${batchExports.one_off}`;
	const runs = db
		.select({ batch_export_id: batchExportRuns.batch_export_id, id: batchExportRuns.id })
		.from(batchExports)
		// SQLite doesn't reorder a cross join. Otherwise it would look up the exports of all runs.
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
	const hasNoLog = notExists(
		db
			.select({ id: batchExportLogs.id })
			.from(batchExportLogs)
			.where(eq(batchExportLogs.batch_export_id, batchExports.id)),
	);
	const empty = db
		.select({ id: batchExports.id })
		.from(batchExports)
		.where(
			and(
				dead,
				hasNoLog,
				sql`not exists (select 1 from batch_export_runs as its where its.batch_export_id = ${batchExports.id})`,
			),
		)
		.limit(CLEANUP_BATCH_SIZE);
	return [
		db
			.delete(batchExportRuns)
			.where(sql`(${batchExportRuns.batch_export_id}, ${batchExportRuns.id}) in ${runs}`),
		db.delete(batchExports).where(inArray(batchExports.id, empty)),
	];
}
