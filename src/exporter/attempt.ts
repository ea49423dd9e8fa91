import { drizzle } from "drizzle-orm/d1";
import { batchExportRuns, now } from "../db/schema.ts";
import { clean } from "./clean.ts";
import { Superseded } from "./destinations/destination.ts";
import type { Launched } from "./launch.ts";
import { isCurrent, type Loaded, load } from "./loaded.ts";

/** An attempt of a run, carried out by an instance. */
export type Attempt = {
	env: Env;
	launched: Launched;
	/**
	 * The run's row and its export. They are loaded once; after that, the row has what this attempt has stored. If it turns
	 * out that someone else has changed the row, they are loaded again.
	 */
	loaded: Loaded;
	/** Set while it isn't known what the database has stored. */
	isStale: boolean;
};

/** Loads the run of an attempt; undefined if it doesn't exist. */
export async function openAttempt(env: Env, launched: Launched): Promise<Attempt | undefined> {
	const loaded = await load(drizzle(env.DB), launched.run_id);
	return loaded && { env, launched, loaded, isStale: false };
}

/** Loads the row again. */
export async function reload(attempt: Attempt) {
	const { env, launched } = attempt;
	attempt.loaded = (await load(drizzle(env.DB), launched.run_id)) ?? attempt.loaded;
	attempt.isStale = false;
}

/** Repeats in memory what the database has stored. */
export function remember(attempt: Attempt, set: Partial<Loaded["run"]>) {
	const { run, batchExport } = attempt.loaded;
	attempt.loaded = { batchExport, run: { ...run, ...set } };
	attempt.isStale = false;
}

/**
 * Changes the run's row.
 * @param state what to remove from the destination if the run was cancelled
 * @throws Superseded if the run was cancelled or another attempt has taken over, after cleaning up
 */
export async function updateRun(attempt: Attempt, set: Partial<Loaded["run"]>, state: unknown) {
	const { env, launched } = attempt;
	const changes = { ...set, last_updated_at: now() };
	attempt.isStale = true;
	const { meta } = await drizzle(env.DB)
		.update(batchExportRuns)
		.set(changes)
		.where(isCurrent(launched));
	if (meta.changes > 0) return remember(attempt, changes);
	await reload(attempt);
	await clean(env, attempt.loaded, state);
	throw new Superseded();
}
