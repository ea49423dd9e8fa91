import { drizzle } from "drizzle-orm/d1";
import { now } from "../db/now.ts";
import { batchExportRuns } from "../db/schema/batch_exports.ts";
import { clean } from "./clean.ts";
import { Superseded } from "./destinations/destination.ts";
import type { AttemptRef } from "./launch.ts";
import { isCurrent, type Loaded, loadRun } from "./loaded.ts";

/** An attempt of a run, carried out by an instance. */
export type Attempt = {
	env: Env;
	ref: AttemptRef;
	/**
	 * The run's row and its export. They are loaded once; after that, the row has what this attempt has stored. If it turns
	 * out that someone else has changed the row, they are loaded again.
	 */
	loaded: Loaded;
	/** Set while it isn't known what the database has stored. */
	isStale: boolean;
	/** Set while the row in `loaded` lacks its state. That may be large, so it isn't kept in memory. */
	lacksState: boolean;
};

/** Loads the run of an attempt; undefined if it doesn't exist. */
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

/** Answers the stored state, and removes it from memory. */
export async function takeState(attempt: Attempt): Promise<unknown> {
	if (attempt.lacksState || attempt.isStale) await reload(attempt);
	const { state } = attempt.loaded.run;
	remember(attempt, { state });
	return state;
}

/** Repeats in memory what the database has stored. A state is left out: `takeState` reads it when it is needed. */
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
 * @throws Superseded if the run was cancelled or another attempt has taken over, after cleaning up
 */
export async function updateRun(attempt: Attempt, set: Partial<Loaded["run"]>) {
	const { env, ref } = attempt;
	const changes = { ...set, last_updated_at: now() };
	attempt.isStale = true;
	const { meta } = await drizzle(env.DB).update(batchExportRuns).set(changes).where(isCurrent(ref));
	if (meta.changes > 0) return remember(attempt, changes);
	await reload(attempt);
	await clean(env, attempt.loaded, set.state);
	throw new Superseded();
}
