import { drizzle } from "drizzle-orm/d1";
import { now } from "../db/now.ts";
import { batchExportRuns } from "../db/schema/batch_exports.ts";
import { SupersededError } from "../outbound/errors.ts";
import { clean } from "./clean.ts";
import type { AttemptRef } from "./launch.ts";
import { isCurrent, type Loaded, loadRun } from "./loaded.ts";

/** An attempt of a run, executed by a Workflow instance. */
export type Attempt = {
	env: Env;
	ref: AttemptRef;
	/**
	 * The run's row and its export. They are loaded once, and every update by this attempt also changes the loaded row. If
	 * another writer has changed the row in the database, both are loaded again.
	 */
	loaded: Loaded;
	/** Whether `loaded` may differ from the row in the database. */
	isStale: boolean;
	/** Whether the row in `loaded` lacks its state, which isn't kept in memory because it can be large. */
	lacksState: boolean;
};

/** Loads the run of an attempt; undefined if the run doesn't exist. */
export async function openAttempt(env: Env, ref: AttemptRef): Promise<Attempt | undefined> {
	const loaded = await loadRun(drizzle(env.DB), ref.run_id);
	return loaded && { env, ref, loaded, isStale: false, lacksState: false };
}

/** Loads the row again. */
export async function reload(attempt: Attempt) {
	const { env, ref } = attempt;
	attempt.loaded = (await loadRun(drizzle(env.DB), ref.run_id)) ?? attempt.loaded;
	attempt.isStale = false;
	attempt.lacksState = false;
}

/** Returns the stored state, and removes it from memory. */
export async function takeState(attempt: Attempt): Promise<unknown> {
	if (attempt.lacksState || attempt.isStale) await reload(attempt);
	const { state } = attempt.loaded.run;
	remember(attempt, { state });
	return state;
}

/** Applies a stored change to the loaded row, without the state, which `takeState` reads when it is needed. */
export function remember(attempt: Attempt, set: Partial<Loaded["run"]>) {
	const { run, batchExport } = attempt.loaded;
	attempt.loaded = { batchExport, run: { ...run, ...set } };
	if (set.state !== undefined) {
		attempt.loaded.run.state = null;
		attempt.lacksState = set.state !== null;
	}
	attempt.isStale = false;
}

/**
 * Changes the run's row.
 * @throws SupersededError if the run was cancelled or another attempt has taken over, after cleaning up
 */
export async function updateRun(attempt: Attempt, set: Partial<Loaded["run"]>) {
	const { env, ref } = attempt;
	const changes = { ...set, last_updated_at: now() };
	attempt.isStale = true;
	const { meta } = await drizzle(env.DB).update(batchExportRuns).set(changes).where(isCurrent(ref));
	if (meta.changes > 0) return remember(attempt, changes);
	await reload(attempt);
	await clean(env, attempt.loaded, set.state);
	throw new SupersededError();
}
