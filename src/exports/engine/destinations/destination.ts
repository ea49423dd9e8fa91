import type { Step } from "../../../outbound/steps.ts";
import type { Column, Model, Row } from "../rows.ts";

/** The run that a destination writes. */
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
	/** Whether an earlier run or try may have written the window. */
	again: boolean;
};

/** The input of a test: rows, and the job of the run that they would belong to. */
export type Sample = { job: Job; rows: Row[] };

/** What a run has written: the names of its files, if it has files, and what its log warns of. */
export type Closed = { files?: string[]; warnings?: string[] };

/**
 * Writes the rows of one run. Its state is JSON and survives a crash: it is stored together with the matching position in the
 * source, and passed to `open` when the run continues.
 */
export type Sink<State> = {
	/**
	 * Writes the next rows. It may remove them from the list, so that they don't stay in memory.
	 * @param sizes the size of each row's values as text, in bytes, if it is known
	 * @returns the state if all rows so far are in the state or at the destination; null while some rows are only in memory
	 */
	write(rows: Row[], sizes?: number[]): Promise<State | null>;
	/**
	 * Makes all written rows appear, and removes the files of the window that an earlier run wrote and this one didn't. It may be
	 * called again after a crash.
	 */
	close(): Promise<Closed>;
	/** Frees connections. Called once, after all other calls, even if one of them failed. */
	release?(): void;
};

/**
 * A destination of exports. `State` is JSON. Destinations remove secrets from the server messages that they quote, so their
 * errors can be shown as they are.
 */
export type Destination<State = unknown> = {
	/** Whether it is a database, which gets the key columns with every query. */
	database: boolean;
	/** Set if the rows of an unfinished run stay at the destination, so that a retry can resume. */
	resumes?: true;
	/**
	 * @param state where the run continues; null if it starts
	 * @param saveState stores a state without a new position, after the sink has started something that must be ended later, such
	 * as an upload. It throws `SupersededError` if that must be ended immediately. `isProgress` resets the count of failed tries.
	 * @param readState reads the last stored state, so that a large one doesn't have to stay in memory
	 */
	open(
		job: Job,
		state: State | null,
		saveState: (state: State, isProgress?: boolean) => Promise<void>,
		readState: () => Promise<State | null>,
	): Promise<Sink<State>>;
	/** Removes the unfinished output of a run that has ended. */
	abort(job: Job, state: State): Promise<void>;
	/**
	 * Tests the destination: reach, sign in, write, remove. Stops at the first step that fails.
	 * @param sample rows as a run would write them
	 */
	test(sample?: Sample): Promise<Step[]>;
};
