/** What people decide about windows that weren't delivered (docs/exports.md#what-isnt-delivered). */
import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists, assertThat, type Database, insertEach } from "../../db/client.ts";
import {
	batchExportRanges,
	batchExportRuns,
	batchExports,
	isMissing,
} from "../../db/schema/batch_exports.ts";
import { orNotFound } from "../../http/errors.ts";
import { pluralize } from "../../lib/text.ts";
import { logWhere } from "../engine/run_log.ts";
import { countInserted } from "../engine/start_runs.ts";
import {
	dismissMissing,
	isUndelivered,
	partsIn,
	selectFailed,
	selectMissing,
	takeMissing,
	windowsOf,
} from "../engine/undelivered.ts";
import { partsOf, type Window } from "../engine/windows.ts";
import { restarted } from "./runs.ts";
import { type RetriedWindows, toBatchExport, type undelivered as Undelivered } from "./shape.ts";
import {
	activityOf,
	launchWaiting,
	notDeleted,
	rowIdOf,
	scheduleUnchanged,
	selectOne,
} from "./statements.ts";

/** How many windows without runs a request adds runs for. */
const MAX_ADDED = 500;

type Span = z.infer<typeof Undelivered>;

/** Reads an export with the failed runs and the missing ranges whose windows overlap a time. */
async function readUndelivered(tenant: Tenant, id: string, span: Span) {
	const [[found], failed, ranges] = await tenant.read(
		selectOne(tenant, id),
		selectFailed(tenant.db, rowIdOf(tenant, id), span),
		selectMissing(tenant.db, rowIdOf(tenant, id), span),
	);
	const row = orNotFound(found);
	const oldestFirst = ranges.toSorted((a, b) => (a.start < b.start ? -1 : 1));
	return { row, failed, missing: partsIn(row, oldestFirst, span) };
}

/**
 * Exports what wasn't delivered: retries the failed runs, and adds a run for each window that has
 * none, oldest first. Runs whose unfinished output is still being removed have to wait.
 */
export const retryFailed = (tenant: Tenant, id: string, span: Span) =>
	retry(() => tryRetryFailed(tenant, id, span));

async function tryRetryFailed(
	tenant: Tenant,
	id: string,
	span: Span,
): Promise<z.infer<typeof RetriedWindows>> {
	const { row, failed, missing } = await readUndelivered(tenant, id, span);
	const clean = failed.filter(({ isUnclean }) => !isUnclean);
	const waiting = failed.length - clean.length;
	const added = windowsOf(row, missing, MAX_ADDED);
	const windows = clean.length + added.length;
	if (windows === 0) return { windows, waiting };
	const { db } = tenant;
	const { row_id } = row;
	const retried = inRuns(row_id, clean);
	const taken = { failed: clean, missing };
	const message = `What wasn't delivered is exported: ${pluralize(windows, "window")}.`;
	await tenant.write({
		checks: [
			assertExists(db, batchExports, and(notDeleted(row_id), scheduleUnchanged(row))),
			...assertUndelivered(db, row_id, taken, sql` and state is null`),
		],
		changes: [
			db.update(batchExportRuns).set(restarted({})).where(retried),
			...addRuns(db, row_id, added),
			logWhere(db, { batch_export_id: row_id, level: "INFO", message }),
		],
		entries: [{ ...activityOf(row), activity: "windows_retried", trigger: { windows, ...span } }],
	});
	launchWaiting(tenant, row);
	return { windows, waiting };
}

type Found = { failed: { id: string }[]; missing: Window[] };

/**
 * Asserts that these windows still aren't delivered: another request may have retried, dismissed or
 * taken over some of them.
 */
const assertUndelivered = (
	db: Database,
	row_id: number,
	{ failed, missing }: Found,
	condition = sql``,
) => [
	assertThat(
		db,
		sql`(select count(*) from ${batchExportRuns} where ${inRuns(row_id, failed)} and ${isUndelivered}${condition}) = ${failed.length}`,
		"is_current",
	),
	assertThat(db, areMissing(row_id, missing), "is_current"),
];

/** Returns the statements that dismiss these windows. The ranges must be in order, oldest first. */
export function dismissing(db: Database, row_id: number, { failed, missing }: Found) {
	const [first] = missing;
	const last = missing.at(-1);
	return [
		db
			.update(batchExportRuns)
			.set({ dismissed: true, last_updated_at: sql`${batchExportRuns.last_updated_at}` })
			.where(and(inRuns(row_id, failed), isUndelivered)),
		...(first && last ? dismissMissing(db, row_id, { start: first.start, end: last.end }) : []),
	];
}

/** SQL condition: runs of an export. */
export const inRuns = (row_id: number, runs: { id: string }[]) =>
	sql`${batchExportRuns.batch_export_id} = ${row_id} and ${batchExportRuns.id} in (
		select value from json_each(${JSON.stringify(runs.map(({ id }) => id))}))`;

/** SQL condition: the ranges of an export still contain these parts, which weren't delivered. */
const areMissing = (row_id: number, parts: Window[]) => {
	const { batch_export_id, start_at, end_at } = batchExportRanges;
	const times = parts.map(({ start, end }) => [Date.parse(start), Date.parse(end)]);
	return sql`not exists (select 1 from json_each(${JSON.stringify(times)}) where not exists (
		select 1 from ${batchExportRanges} where ${batch_export_id} = ${row_id} and ${isMissing}
			and ${start_at} <= value ->> 0 and ${end_at} >= value ->> 1))`;
};

/** Returns the statements that add runs for consecutive missing windows of an export. */
function addRuns(db: Database, row_id: number, windows: Window[]) {
	const [first] = windows;
	const last = windows.at(-1);
	if (!first || !last) return [];
	const runs = windows.map(({ start, end }) => ({
		id: v7(),
		batch_export_id: row_id,
		data_interval_start: start,
		data_interval_end: end,
	}));
	const ids = sql`${JSON.stringify(runs.map(({ id }) => id))}`;
	return [
		insertEach(db, batchExportRuns, { rows: runs }).onConflictDoNothing(),
		...takeMissing(db, row_id, { start: first.start, end: last.end }),
		db
			.update(batchExports)
			.set({
				runs: sql`${batchExports.runs} + ${countInserted(sql`${row_id}`, ids)}`,
				last_updated_at: sql`${batchExports.last_updated_at}`,
			})
			.where(eq(batchExports.id, row_id)),
	];
}

/** Says that windows needn't be delivered. They stay in the lists, but no longer count. */
export const dismissFailed = (tenant: Tenant, id: string, span: Span) =>
	retry(() => tryDismissFailed(tenant, id, span));

async function tryDismissFailed(tenant: Tenant, id: string, span: Span) {
	const { row, failed, missing } = await readUndelivered(tenant, id, span);
	const { row_id } = row;
	const windows = failed.length + missing.reduce((sum, part) => sum + partsOf(row, part), 0);
	if (windows === 0) return toBatchExport(row);
	const { db } = tenant;
	const after = await tenant.write({
		checks: [
			assertExists(db, batchExports, notDeleted(row_id)),
			assertThat(db, areMissing(row_id, missing), "is_current"),
		],
		changes: [
			...dismissing(db, row_id, { failed, missing }),
			logWhere(db, {
				batch_export_id: row_id,
				level: "INFO",
				message: `${pluralize(windows, "window")} that weren't delivered were dismissed.`,
			}),
		],
		entries: [{ ...activityOf(row), activity: "windows_dismissed", trigger: { windows, ...span } }],
		answer: selectOne(tenant, id),
	});
	return toBatchExport(after);
}
