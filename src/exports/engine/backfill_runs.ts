import { and, eq, gt, isNull, lte, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { assertThat, type Database, insertWhere, runBatch } from "../../db/client.ts";
import {
	batchExportBackfills,
	batchExportRanges,
	batchExportRuns,
	batchExports,
	isByArrival,
} from "../../db/schema/batch_exports.ts";
import { conflict, throttled } from "../../http/errors.ts";
import { pluralize } from "../../lib/text.ts";
import { now } from "../../lib/time.ts";
import { type Grid, gridOf } from "./grid.ts";
import { logWhere } from "./run_log.ts";
import { dismissMissing, takeMissing } from "./undelivered.ts";
import { firstMissing, partsOf, type Window, windowsIn } from "./windows.ts";

/** How many backfills of a project may run at once. */
const MAX_RUNNING_BACKFILLS = 3;

/** How many runs are compared with a range at once. */
const MAX_COMPARED_RUNS = 1000;

type BatchExport = Grid & { row_id: number; team_id: number };

/** `batch_export_id`: SQL if the export is inserted in the same batch. */
type Begun = Window &
	Grid &
	Pick<Backfill, "by" | "project_id" | "total_runs"> & {
		batch_export_id: number | SQL;
		/** Undefined if `advanceBackfill` has to find it. */
		first: Window | undefined;
		message: string;
	};

type Backfill = typeof batchExportBackfills.$inferSelect;

type Selection = Window & Pick<Backfill, "by">;

/** Returns how many windows a range has. By arrival, the boundaries of the grid divide it. */
const countWindows = (grid: Grid, { by, start, end }: Selection) =>
	by === "arrival" ? partsOf(grid, { start, end }) : windowsIn(grid, start, end).total;

/** Returns the end of the windows of a range, the last of which is complete. */
const endOf = (grid: Grid, { start, end }: Window, total: number) =>
	windowsIn(grid, start, end, total).window.start;

/** SQL condition: the backfill is running in this project. */
const isRunningIn = (project_id: number | SQL) =>
	and(eq(batchExportBackfills.project_id, project_id), eq(batchExportBackfills.status, "Running"));

/** Selects the running backfills of a project. They decide whether another one may begin. */
export const selectRunning = (db: Database, project_id: SQL) =>
	db
		.select()
		.from(batchExportBackfills)
		.where(isRunningIn(project_id))
		.orderBy(batchExportBackfills.id);

/** Whether a running backfill exports the range. By arrival, a part of the range is enough. */
function covers(running: Backfill, grid: Grid, range: Selection) {
	const { by, start, end } = range;
	if (running.by !== by) return false;
	if (by === "arrival") return running.start_at < end && running.end_at > start;
	const { start_at, end_at, total_runs } = running;
	const lastEnd = endOf(running, { start: start_at, end: end_at }, total_runs);
	return start_at <= start && lastEnd >= endOf(grid, range, countWindows(grid, range));
}

/**
 * @throws 409 if one of the project's running backfills exports the range already, because nothing
 * may be exported twice; 429 if there are too many
 */
export function checkRunning(
	row: Omit<BatchExport, "team_id">,
	range: Selection,
	running: Backfill[],
) {
	const covering = running.find(
		(one) => one.batch_export_id === row.row_id && covers(one, row, range),
	);
	if (covering)
		throw conflict(`The backfill ${covering.id}, which is running, exports this range already.`);
	if (running.length >= MAX_RUNNING_BACKFILLS)
		throw throttled(60, `A project can have ${MAX_RUNNING_BACKFILLS} backfills running.`);
}

/**
 * Returns the parts of a write that begins a backfill: they insert, count and log it, and insert
 * its first run if it selects by event time. By arrival, `advanceBackfill` adds the first run,
 * because windows that have a run are left out.
 * @param running the project's running backfills, which `checkRunning` has checked
 */
export function beginBackfill(
	db: Database,
	row: BatchExport,
	range: Selection,
	running: Backfill[],
) {
	const { row_id: batch_export_id, team_id } = row;
	const { start, end, by } = range;
	const total = countWindows(row, range);
	const first = by === "event" ? windowsIn(row, start, end).window : undefined;
	const begun = insertBackfill(
		db,
		{
			...{
				batch_export_id,
				project_id: team_id,
				...gridOf(row),
				...range,
				total_runs: total,
				first,
			},
			message: `A backfill ${by === "arrival" ? "by arrival " : ""}of ${pluralize(total, "window")} from ${start} to ${end} was started.`,
		},
		running,
	);
	const missing = first
		? dismissMissing(db, batch_export_id, { start, end: endOf(row, range, total) })
		: takeMissing(db, batch_export_id, { start, end });
	return { ...begun, changes: [...missing, ...begun.changes] };
}

/** Returns the parts of a write that insert, count and log a backfill, and its first run. */
export function insertBackfill(
	db: Database,
	{ batch_export_id, start, end, first, message, ...values }: Begun,
	running: Backfill[],
) {
	const [id, run_id] = [v7(), v7()];
	const areRunning = sql`(select json_group_array(id order by id) from ${batchExportBackfills}
		where ${isRunningIn(values.project_id)}) = ${JSON.stringify(running.map((one) => one.id))}`;
	return {
		id,
		run_id,
		checks: [assertThat(db, areRunning, "is_current")],
		changes: [
			db.insert(batchExportBackfills).values({
				...values,
				id,
				batch_export_id,
				start_at: start,
				end_at: end,
				next_start_at: first?.end ?? start,
			}),
			...(first ? [runOf(db, { ...values, id, batch_export_id }, { ...first, id: run_id })] : []),
			count(db, batch_export_id, { backfills: 1, runs: first ? 1 : 0 }),
			logWhere(db, { batch_export_id, level: "INFO", message }),
		],
	};
}

const isBackfill = ({ batch_export_id, id }: Pick<Backfill, "batch_export_id" | "id">) =>
	and(eq(batchExportBackfills.batch_export_id, batch_export_id), eq(batchExportBackfills.id, id));

/** Counts new backfills and runs of an export. */
const count = (
	db: Database,
	batch_export_id: number | SQL,
	{ backfills = 0, runs }: { backfills?: number; runs: number },
	condition?: SQL,
) =>
	db
		.update(batchExports)
		.set({
			backfills: sql`${batchExports.backfills} + ${backfills}`,
			runs: sql`${batchExports.runs} + ${runs}`,
			last_updated_at: sql`${batchExports.last_updated_at}`,
		})
		.where(and(eq(batchExports.id, batch_export_id), condition));

/** Adds a run to a backfill. */
const runOf = (
	db: Database,
	{
		id: backfill_id,
		batch_export_id,
		by,
	}: Pick<Backfill, "id" | "by"> & { batch_export_id: number | SQL },
	{ start, end, id = v7() }: Window & { id?: string },
	condition: SQL = sql`true`,
) =>
	insertWhere(
		db,
		batchExportRuns,
		{
			id,
			batch_export_id,
			backfill_id,
			by,
			data_interval_start: start,
			data_interval_end: end,
		},
		condition,
	);

/** Returns the next window of a backfill; null if there is none. */
async function nextWindow(db: Database, backfill: Backfill): Promise<Window | null> {
	const { start_at, end_at, next_start_at, total_runs } = backfill;
	if (backfill.by === "arrival") return nextMissing(db, backfill);
	if (next_start_at >= end_at) return null;
	const done = windowsIn(backfill, start_at, next_start_at).total;
	return done < total_runs ? windowsIn(backfill, start_at, end_at, done).window : null;
}

/** Returns the next window that neither a run by arrival covers nor a range of old ones. */
async function nextMissing(db: Database, backfill: Backfill) {
	const { batch_export_id, next_start_at, end_at } = backfill;
	const { data_interval_start: start, data_interval_end: end } = batchExportRuns;
	const ranges = batchExportRanges;
	const select = (isIn: (end: SQLiteColumn) => SQL | undefined, limit: number) =>
		db
			.select({ start, end })
			.from(batchExportRuns)
			.where(and(eq(batchExportRuns.batch_export_id, batch_export_id), isByArrival, isIn(end)))
			.unionAll(
				db
					.select({ start: ranges.start_at, end: ranges.end_at })
					.from(ranges)
					.where(
						and(
							eq(ranges.batch_export_id, batch_export_id),
							eq(ranges.by, "arrival"),
							isNull(ranges.latest_error),
							isIn(ranges.end_at),
						),
					),
			)
			.orderBy(end)
			.limit(limit);
	for (let from = next_start_at; ; ) {
		const [within, across] = await db.batch([
			select((end) => and(gt(end, from), lte(end, end_at)), MAX_COMPARED_RUNS),
			select((end) => gt(end, end_at), 1),
		]);
		const missing = firstMissing(backfill, { start: from, end: end_at }, [...within, ...across]);
		const known = within.length < MAX_COMPARED_RUNS ? end_at : (within.at(-1)?.end ?? end_at);
		if (known >= end_at || (missing && missing.start < known)) return missing;
		from = known;
	}
}

/**
 * Adds the next run to a running backfill, or completes it after its last window. Does nothing
 * while a run is unfinished. Concurrent calls add one run to each window.
 */
export async function advanceBackfill(db: Database, of: Pick<Backfill, "batch_export_id" | "id">) {
	const [backfill] = await db.select().from(batchExportBackfills).where(isBackfill(of));
	if (backfill?.status !== "Running") return;
	const { batch_export_id, start_at, end_at, next_start_at } = backfill;
	const window = await nextWindow(db, backfill);
	const run_id = v7();
	const isIdle = and(
		isBackfill(of),
		eq(batchExportBackfills.status, "Running"),
		eq(batchExportBackfills.next_start_at, next_start_at),
		sql`not exists (select 1 from batch_export_runs as open
			where open.batch_export_id = ${batch_export_id} and open.finished_at is null
			and open.backfill_id = ${of.id} and open.id <> ${run_id})`,
	);
	const mayAdvance = sql`exists (select 1 from ${batchExportBackfills} where ${isIdle})`;
	if (window) {
		const isAdded = sql`exists (select 1 from batch_export_runs as added
			where added.batch_export_id = ${batch_export_id} and added.id = ${run_id})`;
		await runBatch(db, {
			// By arrival, the schedule may have added the window in the meantime.
			run: runOf(db, backfill, { ...window, id: run_id }, mayAdvance).onConflictDoNothing(),
			count: count(db, batch_export_id, { runs: 1 }, isAdded),
			backfill: db
				.update(batchExportBackfills)
				.set({
					next_start_at: window.end,
					last_updated_at: sql`${batchExportBackfills.last_updated_at}`,
				})
				.where(isIdle),
		});
		return;
	}
	await runBatch(db, {
		log: logWhere(
			db,
			{
				batch_export_id,
				level: "INFO",
				message: `The backfill from ${start_at} to ${end_at} is complete${backfill.finished_runs > 0 ? "" : ": all of its windows had runs"}.`,
			},
			mayAdvance,
		),
		backfill: db
			.update(batchExportBackfills)
			.set({
				status: "Completed",
				finished_at: now(),
				// By arrival, windows that had a run were left out.
				total_runs: batchExportBackfills.finished_runs,
			})
			.where(isIdle),
	});
}
