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
export const counted = (n: number, one: string) =>
	`${n} ${one}${n === 1 ? "" : "s"}`;

/** The statement that notes in an export's log what the one before it did, if that changed anything. */
export const note = (db: Database, entry: Note) =>
	insertWhere(db, batchExportLogEntries, entry, sql`changes() > 0`);
