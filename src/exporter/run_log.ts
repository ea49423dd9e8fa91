import { type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { type Database, insertWhere } from "../db/client.ts";
import { batchExportLogEntries, type LEVELS } from "../db/schema.ts";

type Entry = {
	batch_export_id: string | SQL;
	/** Absent if the entry is about the export itself. */
	run_id?: string | SQL | null;
	level: (typeof LEVELS)[number];
	message: string | SQL;
};

/** A number and a noun, such as "1 row" or "2 rows". */
export const pluralize = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** The statement that writes an entry to an export's log if `condition` holds. */
export const logWhere = (db: Database, entry: Entry, condition: SQL) =>
	insertWhere(db, batchExportLogEntries, entry, condition);

/**
 * A change and its entry in an export's log, which is written if the change changed a row. Spread them into a batch: the
 * second statement must follow the first.
 */
export const withLogEntry = <Change extends BatchItem<"sqlite">>(
	db: Database,
	change: Change,
	entry: Entry,
) => [change, logWhere(db, entry, sql`changes() > 0`)] as const;
