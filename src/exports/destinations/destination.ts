import type { StoredFile } from "../../db/schema/batch_exports.ts";
import type { Step } from "../../outbound/steps.ts";
import type { Column, Model, Row } from "../query/rows.ts";

export type Job = {
	run_id: string;
	export_id: string;
	/** Whether the run belongs to a backfill, not to the schedule. */
	backfill: boolean;
	team_id: number;
	model: Model;
	columns: Column[];
	/** Whether rows include the uuid of their event, so that no two rows are equal. */
	hasUuid: boolean;
	/** The window, in RFC 3339, UTC. */
	start: string;
	end: string;
	/** Whether the files are for people, who download them. */
	isOneOff?: boolean;
	/** Whether an earlier run or try may have written the window. */
	isRepeat: boolean;
};

/** The input of a test: rows, and the job of the run that they would belong to. */
export type Sample = { job: Job; rows: Row[] };

/** The output of a run: its files, if it has files, and the warnings for its log. */
type Closed = {
	/** The names of the files. */
	files?: string[];
	/** Those that people can download, because they are in the service's own bucket. */
	stored?: StoredFile[] | null;
	warnings?: string[];
};

/** Writes the rows of a run. `open` gets its state, stored with the source's position. */
export type Sink<State> = {
	/**
	 * Writes the next rows. It may remove them from the list, so that they don't stay in memory.
	 * @param sizes the size of each row's values as text, in bytes, if it is known
	 * @returns the state if all rows so far are in the state or at the destination; null while some
	 * rows are only in memory
	 */
	write(rows: Row[], sizes?: number[]): Promise<State | null>;
	/** How many values this sink has written as null, because their columns can't hold them. */
	readonly unfit?: number;
	/** Makes all rows appear, and removes other files of the window. May be called again. */
	close(): Promise<Closed>;
	/** Frees connections. Called once, after all other calls, even if one of them failed. */
	release?(): void;
};

/** A destination of exports. `State` is JSON. Its errors contain no secrets. */
export type Destination<State = unknown> = {
	/** Set if the rows of an unfinished run stay at the destination, so that a retry can resume. */
	resumes?: true;
	/**
	 * @param state where the run continues; null if it starts
	 * @param saveState stores a state without a new position, after the sink has started something
	 * that must be ended later, such as an upload. It throws `SupersededError` if that must be ended
	 * immediately. `isProgress` resets the count of failed attempts.
	 * @param readState reads the last stored state, so that a large one doesn't have to stay in
	 * memory
	 */
	open(
		job: Job,
		state: State | null,
		saveState: (state: State, isProgress?: boolean) => Promise<void>,
		readState: () => Promise<State | null>,
	): Promise<Sink<State>>;
	/** Removes the unfinished output of a run that has ended. */
	abort(job: Job, state: State): Promise<void>;
	/** Tests the destination with rows as a run writes them, up to the first step that fails. */
	test(sample?: Sample): Promise<Step[]>;
};
