import type { Column, Model, Row } from "../rows.ts";
import type { Sample } from "../sample.ts";

/** What a destination knows about the run that it writes. */
export type Job = {
	run_id: string;
	export_id: string;
	/** Whether the run belongs to a backfill, not to the schedule. */
	backfill: boolean;
	team_id: number;
	model: Model;
	columns: Column[];
	/** Whether rows include the uuid of their event, so that no two rows are equal. */
	identified: boolean;
	/** The window, in RFC 3339, UTC. */
	start: string;
	end: string;
};

/** An error that the user has to fix. It isn't retried. The message is for the user and contains no secrets. */
export class Misconfigured extends Error {}

/** A temporary error. `retry_after`: how many seconds the server asks to wait, if it does. */
export class Unavailable extends Error {
	readonly retry_after: number | undefined;

	constructor(message: string, retry_after?: number) {
		super(message);
		this.retry_after = retry_after;
	}
}

/**
 * The attempt has to stop: the run was cancelled, or another attempt has taken over. Only this attempt knows what it has
 * started since its last stored state, so it has to clean that up.
 */
export class Superseded extends Error {}

/**
 * Writes the rows of one run. Its state is JSON and survives a crash: it is stored together with the matching position in
 * the rows, and passed to `open` when the run continues.
 */
export type Sink<State> = {
	/**
	 * Writes the next rows, which it may remove from the list as it goes, so that they need not stay in memory.
	 * @param sizes how many bytes each row's values have as text, if that is known
	 * @returns the state if all rows so far are in it or at the destination; null while some are only in memory
	 */
	write(rows: Row[], sizes?: number[]): Promise<State | null>;
	/**
	 * Makes everything appear that was written. It may be called again after a crash, and does nothing if there were no rows.
	 * @returns the names of the files, if there are any
	 */
	close(): Promise<string[]>;
	/** Frees connections. Called once, after all other calls, even if one of them failed. */
	release?(): void;
};

/** A step of a test. `error` is null if it succeeded. */
export type Step = { name: string; error: string | null };

/**
 * A place that rows can be written to. `State` is JSON. Destinations remove secrets from the server messages that they
 * quote, so their errors can be shown as they are.
 */
export type Destination<State = unknown> = {
	/** Whether it is a database, which gets the key columns whatever the query is. */
	database: boolean;
	/** Set if an unfinished run leaves its rows at the destination, so that a retry can resume. */
	resumes?: true;
	/**
	 * @param state where the run continues; null if it starts
	 * @param keep stores a state without a new position, when something was started that has to be ended later, such as an
	 * upload. It throws `Superseded` if that has to be ended at once. `isProgress` resets the count of failed tries.
	 * @param kept reads the state that was stored last, so that a large one need not stay in memory
	 */
	open(
		job: Job,
		state: State | null,
		keep: (state: State, isProgress?: boolean) => Promise<void>,
		kept: () => Promise<State | null>,
	): Promise<Sink<State>>;
	/** Removes the unfinished output of a run that has ended. */
	abort(job: Job, state: State): Promise<void>;
	/**
	 * Tests the destination: reach, sign in, write, remove. Stops at the first step that fails.
	 * @param sample rows as a run would write them
	 */
	test(sample?: Sample): Promise<Step[]>;
};
