import { and, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { commitIfCurrent } from "../../access/unit_of_work.ts";
import { changes } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { bySystem } from "../../db/record.ts";
import { batchExports } from "../../db/schema/batch_exports.ts";
import { now } from "../../lib/time.ts";
import type { Loaded } from "./loaded.ts";
import { logWhere } from "./run_log.ts";

const MAX_RUNS_EXAMINED = 24;
const MAX_FAILURES_IN_A_ROW = 3;

/**
 * Pauses the export of a failed run and writes an event, if its last three runs failed. Cancelled
 * runs and runs before the last pause don't count (docs/exports.md#runs).
 */
export async function pauseIfFailing(env: Env, { run, batchExport }: Loaded) {
	const db = drizzle(env.DB);
	const { id, uuid, organization_id, project_id, name, last_paused_at } = batchExport;
	const failing = sql`(select count(*) = ${MAX_FAILURES_IN_A_ROW} and min(status = 'Failed') from (
		select status from (
			select id, status, finished_at from batch_export_runs where batch_export_id = ${id} order by id desc limit ${MAX_RUNS_EXAMINED})
		where finished_at > coalesce(${batchExports.last_paused_at}, 0) and status <> 'Cancelled'
		order by finished_at desc, id desc limit ${MAX_FAILURES_IN_A_ROW}))`;
	const isToPause = and(
		eq(batchExports.id, id),
		eq(batchExports.paused, false),
		eq(batchExports.deleted, false),
		failing,
	);
	const at = now();
	const reason = `Its last ${MAX_FAILURES_IN_A_ROW} runs failed.`;
	const next_step =
		'Fix the errors in the log, then unpause the export, with {"backfill": true} to also export what arrived during the pause.';
	await commitIfCurrent(env, db, {
		checks: [assertExists(db, batchExports, isToPause)],
		changes: [
			db
				.update(batchExports)
				.set({ paused: true, last_paused_at: at, pause_note: reason })
				.where(eq(batchExports.id, id)),
			logWhere(db, {
				batch_export_id: id,
				level: "ERROR",
				message: `The export was paused: its last ${MAX_FAILURES_IN_A_ROW} runs failed. ${next_step}`,
			}),
		],
		entries: [
			bySystem({
				activity: "paused",
				scope: "BatchExport",
				item_id: uuid,
				name,
				changes: changes({ paused: false, last_paused_at }, { paused: true, last_paused_at: at }),
				trigger: {
					batch_export_id: uuid,
					reason,
					run_id: run.id,
					error: run.latest_error,
					next_step,
				},
				organization: organization_id,
				project: project_id,
			}),
		],
	});
}
