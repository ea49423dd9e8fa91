import type { Column, Model, Row } from "../rows.ts";
import type { Sample } from "../sample.ts";

/** The run that a destination works for, as far as it shows in what is written. */
export type Job = {
	run_id: string;
	export_id: string;
	/** Whether a backfill has it run, not the schedule. */
	backfill: boolean;
	team_id: number;
	model: Model;
	columns: Column[];
	/** Whether each row carries the uuid of its event, so that no two rows are alike. */
	identified: boolean;
	/** The window, RFC 3339, UTC. */
	start: string;
	end: string;
};

/** What went wrong is the user's to mend: nothing is tried again. The message is for that user, and holds no secret. */
export class Misconfigured extends Error {}

/** What went wrong may pass. `retry_after`: for how many seconds the other side asks to be left alone, if it says so. */
export class Unavailable extends Error {
	readonly retry_after: number | undefined;

	constructor(message: string, retry_after?: number) {
		super(message);
		this.retry_after = retry_after;
	}
}

/** The attempt is of no use any more: the run was cancelled, or is another's. What it has begun, nobody else knows of. */
export class Superseded extends Error {}

/**
 * Takes one run's rows. What must outlive a crash is its state, which is JSON: it is kept together with the position in
 * the rows that it stands for, and handed to `open` when the run goes on from there.
 */
type Sink<State> = {
	/**
	 * Takes the next rows. Answers the state if all rows so far are in it or safe at the destination; null while some are
	 * only in memory.
	 */
	write(rows: Row[]): Promise<State | null>;
	/**
	 * No more rows: what is written appears. Called again after a crash, it finds what it did; without a row before it, it
	 * does nothing. Answers the names of the files, if it wrote any.
	 */
	close(): Promise<string[]>;
	/** Frees connections. Called once, after the last call, also when an earlier call failed. */
	release?(): void;
};

/** One thing that a trial does: what it is called, and what stood in its way; null: nothing. */
export type Step = { name: string; error: string | null };

/**
 * A place that rows can be written to, with its config in the clear. `State` is JSON. Its errors hide secrets where they
 * quote others, so that our own words are shown as they are.
 */
export type Destination<State = unknown> = {
	/** Databases get the columns that tell rows apart, whatever the query says. */
	database: boolean;
	/** What a run has written stays when it ends before its last row, so that a retry can go on from its state. */
	resumes?: true;
	/**
	 * @param state where the run goes on; null: it begins
	 * @param keep keeps a state for the position of the last one that was kept: that something was begun which has to be
	 * ended, like an upload; throws `Superseded` where that is to be ended at once. `isProgress`: the tries count anew.
	 */
	open(
		job: Job,
		state: State | null,
		keep: (state: State, isProgress?: boolean) => Promise<void>,
	): Promise<Sink<State>>;
	/** Removes what a run that has ended left unfinished. */
	abort(job: Job, state: State): Promise<void>;
	/**
	 * Tries it: reach, sign in, write, remove. Ends with the first step that fails.
	 * @param sample what a run would write
	 */
	test(sample?: Sample): Promise<Step[]>;
};
