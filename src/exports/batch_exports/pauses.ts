import { and, eq } from "drizzle-orm";
import type * as z from "zod";
import { retry } from "../../access/retry.ts";
import type { Tenant } from "../../access/tenant.ts";
import { changes } from "../../db/changes.ts";
import { batchExports } from "../../db/schema/batch_exports.ts";
import { found } from "../../http/errors.ts";
import { beginBackfill } from "../engine/backfill_runs.ts";
import { logWhere } from "../engine/run_log.ts";
import { resume, resumeWithBackfill } from "../engine/windows.ts";
import { launchBackfill, notBegun, selectBegun } from "./backfills.ts";
import { type BatchExport, toBatchExport, type unpause as Unpause } from "./shape.ts";
import {
	activityOf,
	launchWaiting,
	notDeleted,
	passPause,
	pausing,
	read,
	scheduleUnchanged,
	selectOne,
	TIMING,
} from "./statements.ts";

/** Pauses an export. Runs that have started continue. */
export async function pause(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	if (row.paused) return toBatchExport(row);
	const set = pausing(null);
	const [after] = await tenant.write({
		entry: { ...activityOf(row), activity: "paused", changes: changes(row, set) },
		change: tenant.db
			.update(batchExports)
			.set(set)
			.where(and(notDeleted(row.row_id), eq(batchExports.paused, false))),
		after: (changed) => [
			logWhere(
				tenant.db,
				{ batch_export_id: row.row_id, level: "INFO", message: "The export was paused." },
				changed,
			),
		],
		answer: selectOne(tenant, id),
	});
	return toBatchExport(found(after));
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
): Promise<(z.infer<typeof BatchExport> & { backfill_id?: string }) | undefined> {
	const row = await read(tenant, id);
	if (!row.paused) return toBatchExport(row);
	const { db } = tenant;
	const backfilled = backfill ? resumeWithBackfill(row, Date.now()) : undefined;
	const begin =
		backfilled && backfilled.range.start < backfilled.range.end
			? beginBackfill(db, row, { ...backfilled.range, by: "arrival" })
			: undefined;
	const unchanged = and(eq(batchExports.paused, true), scheduleUnchanged(row), begin?.isAllowed);
	const resumed = passPause(tenant, row, backfilled ?? resume(row, row, Date.now()), unchanged);
	const [after] = await tenant.write({
		entry: { ...activityOf(row), activity: "unpaused", changes: changes(row, { paused: false }) },
		before: resumed.before,
		change: db
			.update(batchExports)
			.set({ paused: false, ...resumed.columns })
			.where(and(notDeleted(row.row_id), unchanged)),
		after: (changed) => (begin ? begin.statements(changed) : []),
		answer: selectBegun(tenant, id, begin),
	});
	const { backfill_id, covered_by, ...answer } = found(after);
	if (answer.paused && TIMING.some((field) => answer[field] !== row[field])) return undefined;
	if (answer.paused) throw notBegun(covered_by);
	if (!begin || backfill_id === null) {
		launchWaiting(tenant, row);
		return toBatchExport(answer);
	}
	launchBackfill(tenant, row, backfill_id);
	return { ...toBatchExport(answer), backfill_id };
}
