import { type SQL, sql } from "drizzle-orm";
import { type Database, insertWhere } from "../db/client.ts";
import { batchExportLogEntries, type LEVELS } from "../db/schema.ts";

type Note = {
	batch_export_id: string | SQL;
	/** Absent: of the export itself. */
	run_id?: string | SQL | null;
	level: (typeof LEVELS)[number];
	message: string | SQL;
};

/** How many there are of something, for a message. */
export const pluralize = (n: number, one: string) => `${n} ${one}${n === 1 ? "" : "s"}`;

/**
 * The statement that writes an entry to an export's log.
 * @param condition what must hold then; by default, that the statement before it in the batch changed a row
 */
export const logIfChanged = (db: Database, entry: Note, condition = sql`changes() > 0`) =>
	insertWhere(db, batchExportLogEntries, entry, condition);
