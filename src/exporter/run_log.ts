import { type SQL, sql } from "drizzle-orm";
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

/**
 * The statement that writes an entry to an export's log if `condition` holds.
 * @param condition by default, that the statement before this one in the batch changed a row
 */
export const logIfChanged = (db: Database, entry: Entry, condition = sql`changes() > 0`) =>
	insertWhere(db, batchExportLogEntries, entry, condition);
