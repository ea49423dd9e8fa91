import type { Row } from "../rows.ts";

/** Makes the bytes of one file, in pieces that are valid until the next call. */
export type Encoder = {
	/**
	 * Takes rows, of about so many bytes. Answers bytes of the file that are ready: of these rows, of rows before, or none.
	 */
	write(rows: Row[], bytes: number): Uint8Array[] | Promise<Uint8Array[]>;
	/** About how many bytes the rows will come to that are only in memory. */
	readonly pending: number;
	/** The bytes of the rows that are only in memory. */
	flush(): Uint8Array[];
	/** The rest of the file. */
	finish(): Uint8Array[];
	/** What it takes to go on behind a flush; the bytes so far aren't in it. */
	state(): string;
	/** Frees memory. Called once, after all other calls. */
	release?(): void;
};

/** Where an encoder goes on: behind so many bytes of the file. */
export type Resumed = { offset: number; state: string };

export const NOTHING = new Uint8Array();
