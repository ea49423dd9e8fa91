import type { Row } from "../query/rows.ts";

/** Encodes a file. The returned pieces are valid until the next call. */
export type Encoder = {
	/** Adds rows of about this many bytes. Returns finished bytes, of these or earlier rows. */
	write(rows: Row[], bytes: number): Uint8Array[] | Promise<Uint8Array[]>;
	/** The approximate encoded size of the rows that are only in memory, in bytes. */
	readonly pending: number;
	flush(): Uint8Array[];
	finish(): Uint8Array[];
	/** Returns the state to continue with after a flush. It doesn't contain the bytes so far. */
	state(): string;
	/** Frees memory. Called once, after all other calls. */
	release?(): void;
};

/** Where an encoder continues: after `offset` bytes of the file. */
export type Resumed = { offset: number; state: string };

export const NOTHING = new Uint8Array();
