import { drizzle } from "drizzle-orm/d1";
import { batchExportRuns } from "../../db/schema/batch_exports.ts";
import { now } from "../../lib/time.ts";
import { SupersededError } from "../../outbound/errors.ts";
import { clean } from "./clean.ts";
import { isCurrent, type Loaded, loadRun } from "./loaded.ts";
import { leaseEnd, type RunLease } from "./start_runs.ts";

export type Attempt = {
	env: Env;
	ref: RunLease;
	/**
	 * The run's row and its export. They are loaded once; every update by this attempt also changes
	 * the loaded row. If another writer has changed the row, both are loaded again.
	 */
	loaded: Loaded;
	/** Whether `loaded` may differ from the row in the database. */
	isStale: boolean;
	/** Whether the row in `loaded` lacks its state, which can be large. */
	lacksState: boolean;
	/** The columns of a run that has begun, which the next update of the row stores. */
	begun: Partial<Loaded["run"]>;
};

/** Loads the run of an attempt; undefined if the run doesn't exist. */
export async function openAttempt(env: Env, ref: RunLease): Promise<Attempt | undefined> {
	const loaded = await loadRun(drizzle(env.DB), ref);
	return loaded && { env, ref, loaded, isStale: false, lacksState: false, begun: {} };
}

export async function reload(attempt: Attempt) {
	const { env, ref } = attempt;
	attempt.loaded = (await loadRun(drizzle(env.DB), ref)) ?? attempt.loaded;
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

/** Applies a stored change to the loaded row, without the state, which `takeState` reads. */
export function remember(attempt: Attempt, set: Partial<Loaded["run"]>) {
	const { run } = attempt.loaded;
	attempt.loaded = { ...attempt.loaded, run: { ...run, ...set } };
	if (set.state !== undefined) {
		attempt.loaded.run.state = null;
		attempt.lacksState = set.state !== null;
	}
	attempt.isStale = false;
}

/**
 * Changes the run's row.
 * @throws SupersededError if the run was cancelled or another attempt has taken over, after
 * cleaning up
 */
export async function updateRun(attempt: Attempt, set: Partial<Loaded["run"]>) {
	const { env, ref } = attempt;
	const lease_expires_at = leaseEnd();
	const changes = { ...attempt.begun, ...set, lease_expires_at, last_updated_at: now() };
	attempt.isStale = true;
	const { meta } = await drizzle(env.DB).update(batchExportRuns).set(changes).where(isCurrent(ref));
	if (meta.changes === 0) throw await superseded(attempt, set.state);
	attempt.begun = {};
	remember(attempt, changes);
}

/** @throws SupersededError, after cleaning up, if the attempt isn't the current one anymore */
export async function checkCurrent(attempt: Attempt) {
	const { env, ref } = attempt;
	const [current] = await drizzle(env.DB)
		.select({ id: batchExportRuns.id })
		.from(batchExportRuns)
		.where(isCurrent(ref));
	if (!current) throw await superseded(attempt);
}

async function superseded(attempt: Attempt, state?: unknown) {
	await reload(attempt);
	await clean(attempt.env, attempt.loaded, state);
	return new SupersededError();
}
