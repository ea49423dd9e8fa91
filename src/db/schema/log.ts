import { integer, text } from "drizzle-orm/sqlite-core";

/**
 * An entry of a log as it is stored: when it was written (in milliseconds since 1970), its level,
 * its text and, in logs of plugin configs, its source.
 */
export type StoredEntry<Level extends string = string, Source extends string[] = string[]> = [
	at: number,
	level: Level,
	message: string,
	...source: Source,
];

/**
 * The columns that order the rows of a log. A row has all entries that one job or one step of a run
 * has written (decision 5). Rows are only added after the newest one, and deleted from the oldest
 * one on.
 */
export const logPosition = () => ({
	/** When the row's newest entry was written, in ms since 1970, or the next free position. */
	position: integer().notNull(),
	/** The number of entries in this row and all before it. */
	total: integer().notNull(),
});

/** The content of a row. It comes last, because SQLite reads the columns before without it. */
export const logContent = () => ({
	/** A UUID that rows of the same job share. The ids of entries are made of it and their number. */
	id: text().notNull(),
	/** JSON: a list of `StoredEntry`, newest first: an entry's number is `total` minus its index. */
	entries: text().notNull(),
});
