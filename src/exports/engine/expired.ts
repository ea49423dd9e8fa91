import { and, eq, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { batchExports } from "../../db/schema/batch_exports.ts";
import { forEachLogged } from "../../lib/background.ts";
import { iso, MINUTE_MS } from "../../lib/time.ts";
import { joined, rootOf } from "../destinations/files/names.ts";
import { folderOf } from "./one_offs.ts";

/** Exports that a tick removes. */
const BATCH_SIZE = 25;

/** How long a run must have been silent: afterwards, it writes no more files. */
const SILENT_MS = MINUTE_MS;

/** The name of this part of the schedule in the log. */
export const EXPIRED = "old one-off exports";

/**
 * Removes one-off exports whose time has come: first what is still running, later the files, and
 * last the rows, so that a tick that is killed is made up for by the next one.
 */
export async function removeOneOffs({ DB, EXPORTS }: Env, at: number) {
	const db = drizzle(DB);
	const isDue = and(sql`${batchExports.one_off}`, lte(batchExports.due_at, iso(at)));
	// The trigger `batch_exports_delete` cancels what is running.
	await db
		.update(batchExports)
		.set({ deleted: true })
		.where(and(isDue, sql`not ${batchExports.deleted}`));
	const due = await db
		.select({
			id: batchExports.id,
			uuid: batchExports.uuid,
			project_id: batchExports.project_id,
		})
		.from(batchExports)
		.where(
			and(
				isDue,
				sql`not exists (select 1 from batch_export_runs as run where run.batch_export_id = ${batchExports.id}
					and (run.state is not null or max(run.finished_at, run.last_updated_at) > ${at - SILENT_MS}))`,
			),
		)
		.orderBy(batchExports.due_at)
		.limit(BATCH_SIZE);
	await forEachLogged(EXPIRED, due, async ({ id, uuid, project_id }) => {
		const prefix = `${joined(rootOf(true, project_id), folderOf(uuid))}/`;
		for (;;) {
			const { objects } = await EXPORTS.list({ prefix });
			if (objects.length === 0) break;
			await EXPORTS.delete(objects.map(({ key }) => key));
		}
		await db.delete(batchExports).where(eq(batchExports.id, id));
	});
}
