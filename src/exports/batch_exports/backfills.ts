import { and, eq, gt, isNull, lt, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists, inList } from "../../db/client.ts";
import { countWhere } from "../../db/list.ts";
import {
	batchExportBackfills,
	batchExportRuns,
	batchExports,
} from "../../db/schema/batch_exports.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { now } from "../../lib/time.ts";
import {
	advanceBackfill,
	beginBackfill,
	checkRunning,
	selectRunning,
} from "../engine/backfill_runs.ts";
import { logWhere } from "../engine/run_log.ts";
import { lastWindow, windowsIn } from "../engine/windows.ts";
import { backfillColumns } from "./columns.ts";
import { checkPast } from "./rules.ts";
import { type backfill as Backfill, type backfillFilters, toBatchExport } from "./shape.ts";
import {
	activityOf,
	CANCELLED,
	countOf,
	launchRuns,
	listWithin,
	notDeleted,
	type Row,
	rowIdOf,
	scheduled,
	selectName,
	selectOne as selectOneExport,
} from "./statements.ts";

const select = ({ db }: Tenant, id: string) =>
	db.select(backfillColumns(id)).from(batchExportBackfills);

const ofExport = (tenant: Tenant, id: string) =>
	eq(batchExportBackfills.batch_export_id, rowIdOf(tenant, id));

/** Lists backfills, newest first. With a filter by time, the newest ranges come first. */
export function list(
	tenant: Tenant,
	id: string,
	page: Page,
	{ status, after, before }: z.infer<typeof backfillFilters>,
) {
	const { id: backfill_id, end_at } = batchExportBackfills;
	const hasStatus = status?.length ? inList(batchExportBackfills.status, status) : undefined;
	const isInRange = and(
		after ? gt(end_at, after) : undefined,
		before ? lt(end_at, before) : undefined,
	);
	const where = and(ofExport(tenant, id), isInRange, hasStatus);
	return listWithin(tenant, id, page, {
		select: () => select(tenant, id).$dynamic(),
		where,
		by: isInRange ? [end_at, backfill_id] : [backfill_id],
		keys: ({ end_at, id }) => (isInRange ? [end_at, id] : [id]),
		total:
			isInRange || hasStatus
				? countWhere(batchExportBackfills, where)
				: countOf(tenant, id, batchExports.backfills),
	});
}

const selectOne = (tenant: Tenant, id: string, backfill_id: string) =>
	select(tenant, id).where(
		and(ofExport(tenant, id), eq(batchExportBackfills.id, backfill_id.toLowerCase())),
	);

async function readOne(tenant: Tenant, id: string, backfill_id: string) {
	const [[parent], [backfill]] = await tenant.read(
		selectName(tenant, id),
		selectOne(tenant, id, backfill_id),
	);
	return { exported: orNotFound(parent), backfill: orNotFound(backfill) };
}

export const find = async (tenant: Tenant, id: string, backfill_id: string) =>
	(await readOne(tenant, id, backfill_id)).backfill;

/** Cancels the backfill and its current run. */
export const cancel = (tenant: Tenant, id: string, backfill_id: string) =>
	retry(() => tryCancel(tenant, id, backfill_id));

async function tryCancel(tenant: Tenant, id: string, backfill_id: string) {
	const { exported, backfill } = await readOne(tenant, id, backfill_id);
	if (backfill.status !== "Running")
		throw invalid(null, "Only a running backfill can be cancelled.");
	const { db } = tenant;
	const at = now();
	const isThisBackfill = and(
		eq(batchExportBackfills.batch_export_id, exported.row_id),
		eq(batchExportBackfills.id, backfill.id),
	);
	const isRunning = and(isThisBackfill, eq(batchExportBackfills.status, "Running"));
	return tenant.write({
		checks: [assertExists(db, batchExportBackfills, isRunning)],
		changes: [
			db
				.update(batchExportRuns)
				.set({ ...CANCELLED, finished_at: at, last_updated_at: at })
				.where(
					and(
						eq(batchExportRuns.batch_export_id, exported.row_id),
						eq(batchExportRuns.backfill_id, backfill.id),
						isNull(batchExportRuns.finished_at),
					),
				),
			db
				.update(batchExportBackfills)
				.set({ status: "Cancelled", finished_at: at })
				.where(isThisBackfill),
			logWhere(db, {
				batch_export_id: exported.row_id,
				level: "WARNING",
				message: `The backfill from ${backfill.start_at} to ${backfill.end_at} was cancelled.`,
			}),
		],
		entries: [
			{
				...activityOf(exported),
				activity: "backfill_cancelled",
				trigger: { backfill_id: backfill.id },
			},
		],
		answer: selectOne(tenant, id, backfill_id),
	});
}

/**
 * Selects the running backfills of an export's project. The project in the path needs no subquery
 * about the export, in which `@current` would be deeper than SQLite allows.
 */
export const selectRunningBeside = (tenant: Tenant, id: string) =>
	selectRunning(
		tenant.db,
		tenant.kind === "project"
			? tenant.project
			: sql`(select ${batchExports.project_id} from ${batchExports} where ${eq(batchExports.id, rowIdOf(tenant, id))})`,
	);

/** Reads the export, and the running backfills of its project. */
export async function readWithRunning(tenant: Tenant, id: string) {
	const [[row], running] = await tenant.read(
		selectOneExport(tenant, id),
		selectRunningBeside(tenant, id),
	);
	return { row: scheduled(orNotFound(row)), running };
}

/** Launches the first run of a backfill after the response. If this fails, the next tick does. */
export const launchBackfill = (tenant: Tenant, { row_id }: Row, backfill_id: string) =>
	tenant.later(async (db) => {
		await advanceBackfill(db, { batch_export_id: row_id, id: backfill_id });
		await launchRuns(tenant, row_id);
	});

/** Returns the range of a backfill; by default the last complete window. */
function rangeOf(row: Row, { start_at, end_at, by = "event" }: z.infer<typeof Backfill>) {
	const { interval, next_start_at } = row;
	const until = by === "arrival" ? Math.min(Date.parse(next_start_at), Date.now()) : Date.now();
	const last = lastWindow(row, until);
	const end = end_at ?? last.end;
	const start = start_at ?? (end_at ? lastWindow(row, Date.parse(end)).start : last.start);
	checkPast(start, end);
	if (by === "arrival" && end > next_start_at)
		throw invalid(
			"end_at",
			`end_at must not be after ${next_start_at}: the schedule exports what arrives from then on. If the export is paused, unpause it with a backfill.`,
		);
	if (by === "event" && windowsIn(row, start, end).total === 0)
		throw invalid(
			start_at ? "start_at" : "end_at",
			`The range is shorter than the export's interval (${interval}).`,
		);
	return { start, end, by };
}

/**
 * Starts a backfill. The export may be paused.
 * @throws 400 for an invalid range, 409 if a backfill exports it already, 429 if too many backfills
 * are running
 */
export const start = (tenant: Tenant, id: string, body: z.infer<typeof Backfill>) =>
	retry(async () => {
		const { row, running } = await readWithRunning(tenant, id);
		const range = rangeOf(row, body);
		checkRunning(row, range, running);
		const begin = beginBackfill(tenant.db, row, range, running);
		const after = await tenant.write({
			checks: [assertExists(tenant.db, batchExports, notDeleted(row.row_id)), ...begin.checks],
			changes: begin.changes,
			entries: [
				{
					...activityOf(row),
					activity: "backfilled",
					trigger: { backfill_id: begin.id, ...range },
				},
			],
			answer: selectOneExport(tenant, id),
		});
		launchBackfill(tenant, row, begin.id);
		return { ...toBatchExport(after), backfill_id: begin.id };
	});
