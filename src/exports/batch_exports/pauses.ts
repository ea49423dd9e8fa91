import { and, eq } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { changes } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { batchExports } from "../../db/schema/batch_exports.ts";
import { beginBackfill, checkRunning } from "../engine/backfill_runs.ts";
import { logWhere } from "../engine/run_log.ts";
import { resume, resumeWithBackfill } from "../engine/windows.ts";
import { launchBackfill, readWithRunning } from "./backfills.ts";
import {
	type BatchExport,
	type pause as Pause,
	toBatchExport,
	type unpause as Unpause,
} from "./shape.ts";
import {
	activityOf,
	launchWaiting,
	notDeleted,
	passPause,
	pausing,
	readScheduled,
	scheduleUnchanged,
	selectOne,
} from "./statements.ts";

/** Pauses an export. Runs that have started continue. */
export const pause = (tenant: Tenant, id: string, body: z.infer<typeof Pause>) =>
	retry(() => tryPause(tenant, id, body));

async function tryPause(tenant: Tenant, id: string, { pause_note }: z.infer<typeof Pause>) {
	const row = await readScheduled(tenant, id);
	if (row.paused) return toBatchExport(row);
	const set = pausing(null, pause_note);
	const { db } = tenant;
	const isRunning = and(notDeleted(row.row_id), eq(batchExports.paused, false));
	const message = "The export was paused.";
	const after = await tenant.write({
		checks: [assertExists(db, batchExports, isRunning)],
		changes: [
			db.update(batchExports).set(set).where(eq(batchExports.id, row.row_id)),
			logWhere(db, { batch_export_id: row.row_id, level: "INFO", message }),
		],
		entries: [{ ...activityOf(row), activity: "paused", changes: changes(row, set) }],
		answer: selectOne(tenant, id),
	});
	return toBatchExport(after);
}

/**
 * Unpauses an export. Windows that ended during the pause are exported only if the body asks for a
 * backfill, which selects what arrived in them. If another request changes the schedule in the
 * meantime, retries.
 * @throws 409 if another backfill exports a part of the range, 429 if too many backfills are
 * running
 */
export const unpause = (tenant: Tenant, id: string, body: z.infer<typeof Unpause>) =>
	retry(() => tryUnpause(tenant, id, body));

async function tryUnpause(
	tenant: Tenant,
	id: string,
	{ backfill }: z.infer<typeof Unpause>,
): Promise<z.infer<typeof BatchExport> & { backfill_id?: string }> {
	const { row, running } = await readWithRunning(tenant, id);
	if (!row.paused) return toBatchExport(row);
	const { db } = tenant;
	const backfilled = backfill ? resumeWithBackfill(row, Date.now()) : undefined;
	const range =
		backfilled && backfilled.range.start < backfilled.range.end
			? { ...backfilled.range, by: "arrival" as const }
			: undefined;
	if (range) checkRunning(row, range, running);
	const begin = range && beginBackfill(db, row, range, running);
	const set = { paused: false, pause_note: null };
	const resumed = passPause(tenant, row, backfilled ?? resume(row, row, Date.now()), {
		isGivenUp: backfill === false,
	});
	const isPaused = and(
		notDeleted(row.row_id),
		eq(batchExports.paused, true),
		scheduleUnchanged(row),
	);
	const after = await tenant.write({
		checks: [assertExists(db, batchExports, isPaused), ...(begin?.checks ?? [])],
		changes: [
			...resumed.statements,
			db
				.update(batchExports)
				.set({ ...set, ...resumed.columns })
				.where(eq(batchExports.id, row.row_id)),
			...(begin?.changes ?? []),
		],
		entries: [{ ...activityOf(row), activity: "unpaused", changes: changes(row, set) }],
		answer: selectOne(tenant, id),
	});
	const answer = toBatchExport(after);
	if (!begin) {
		launchWaiting(tenant, row);
		return answer;
	}
	launchBackfill(tenant, row, begin.id);
	return { ...answer, backfill_id: begin.id };
}
