import type { Row } from "../rows.ts";

/** Encodes a file. The returned pieces are valid until the next call. */
export type Encoder = {
	/**
	 * Adds rows with about this many bytes. Returns the finished bytes of the file, which may be
	 * those of these rows or of earlier ones, or none.
	 */
	write(rows: Row[], bytes: number): Uint8Array[] | Promise<Uint8Array[]>;
	/** The approximate encoded size of the rows that are only in memory, in bytes. */
	readonly pending: number;
	/** Returns the bytes of the rows that are only in memory. */
	flush(): Uint8Array[];
	/** Returns the rest of the file. */
	finish(): Uint8Array[];
	/** Returns the state to continue with after a flush. It doesn't contain the bytes so far. */
	state(): string;
	/** Frees memory. Called once, after all other calls. */
	release?(): void;
};

/** Where an encoder continues: after `offset` bytes of the file. */
export type Resumed = { offset: number; state: string };

export const NOTHING = new Uint8Array();
