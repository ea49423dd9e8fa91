import { and, eq, isNotNull } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { batchExportRuns } from "../../db/schema/batch_exports.ts";
import { DAY_MS, now } from "../../lib/time.ts";
import { isRun, type Loaded, planTransfer } from "./loaded.ts";

/** Afterwards, unfinished output is left: the bucket may be gone, or the credentials revoked. */
const CLEANUP_GIVE_UP_MS = 7 * DAY_MS;

/**
 * Removes the unfinished output of a run that has ended; if that fails, a later tick tries again.
 * If the destination keeps what was written, removes nothing, so that a retry can resume.
 * @param latest the newest state of the run, if it couldn't be stored
 */
export async function clean(env: Env, loaded: Loaded, latest?: unknown) {
	const { run } = loaded;
	const ended = run.finished_at;
	if (ended === null || run.status === "Completed") return;
	const state = latest ?? run.state;
	if (state === null) return;
	const removed = await planTransfer(env, loaded)
		.then(async ({ destination, job }) => {
			if (destination.resumes) return { resume_state: run.state };
			await destination.abort(job, state);
			return { cursor: null };
		})
		.catch(() => undefined);
	const isGivenUp = Date.now() - Date.parse(ended) > CLEANUP_GIVE_UP_MS;
	await drizzle(env.DB)
		.update(batchExportRuns)
		.set({
			state: removed || isGivenUp ? null : state,
			...removed,
			last_updated_at: now(),
		})
		.where(
			and(
				isRun({ batch_export_id: run.batch_export_id, run_id: run.id }),
				eq(batchExportRuns.lease, run.lease),
				isNotNull(batchExportRuns.finished_at),
			),
		);
}
