import { and, eq, type SQL } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { changes } from "../db/changes.ts";
import { iso } from "../db/now.ts";
import { batchExports } from "../db/schema/batch_exports.ts";
import { beginBackfill, mayStartBackfill } from "../exporter/backfill_runs.ts";
import { logWhere } from "../exporter/run_log.ts";
import { boundaryBefore, nextStart, resume, schedule, windowsIn } from "../exporter/windows.ts";
import { found } from "../http/errors.ts";
import { retry } from "../tenant/retry.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { selectBegun, tooManyBackfills } from "./backfills.ts";
import { type BatchExport, toBatchExport, type unpause as Unpause } from "./shape.ts";
import {
	activityOf,
	insertMissedRuns,
	launchWaiting,
	notDeleted,
	pausing,
	type Row,
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
			.where(and(notDeleted(row.id), eq(batchExports.paused, false))),
		after: (changed) => [logMessage(tenant, row, "The export was paused.", changed)],
		answer: selectOne(tenant, id),
	});
	return toBatchExport(found(after));
}

const logMessage = ({ db }: Tenant, { id }: Row, message: string, condition: SQL) =>
	logWhere(db, { batch_export_id: id, level: "INFO", message }, condition);

/**
 * Unpauses an export. Windows that ended during the pause are exported only if the body asks for a backfill. If another request
 * changes the schedule in the meantime, retries.
 * @throws 429 if too many backfills are running
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
	const { interval } = row;
	const missed = backfill &&
		row.last_paused_at !== null && {
			start: iso(
				Math.min(boundaryBefore(interval, Date.parse(row.last_paused_at)), nextStart(row)),
			),
			end: iso(boundaryBefore(interval, Date.now())),
		};
	const range =
		missed && windowsIn(interval, missed.start, missed.end).total > 0 ? missed : undefined;
	const backfill_id = v7();
	const { windows, columns } = range
		? { windows: [], columns: schedule(row, Date.now()) }
		: resume(row, row, Date.now());
	const unchanged = and(
		eq(batchExports.paused, true),
		scheduleUnchanged(row),
		range && mayStartBackfill(row.team_id),
	);
	const [after] = await tenant.write({
		entry: {
			...activityOf(row),
			activity: "unpaused",
			changes: changes(row, { paused: false }),
		},
		before: [insertMissedRuns(tenant, row, windows, unchanged)],
		change: db
			.update(batchExports)
			.set({ paused: false, ...columns })
			.where(and(notDeleted(row.id), unchanged)),
		after: (changed) =>
			range
				? beginBackfill(db, backfill_id, row, range, changed)
				: [logMessage(tenant, row, "The export was unpaused.", changed)],
		answer: selectBegun(tenant, id, backfill_id),
	});
	const { backfill_id: begun, ...answer } = found(after);
	if (answer.paused && TIMING.some((field) => answer[field] !== row[field])) return undefined;
	if (answer.paused) throw tooManyBackfills();
	launchWaiting(tenant, row);
	if (begun === null) return toBatchExport(answer);
	return { ...toBatchExport(answer), backfill_id: begun };
}
