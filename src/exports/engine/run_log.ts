import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { batchExportLogs, type LEVELS } from "../../db/schema/batch_exports.ts";
import { append, type Logs } from "../../db/stored_log.ts";

export const EXPORT_LOGS: Logs = {
	table: batchExportLogs,
	owner: batchExportLogs.batch_export_id,
	run: batchExportLogs.run_id,
};

type Line = { level: (typeof LEVELS)[number]; message: string };

type Entry = Line & {
	batch_export_id: number | SQL;
	/** Absent if the entry is about the export itself. */
	run_id?: string | null;
	/** Entries that follow, in the same row. */
	more?: Line[];
};

/** Returns the statement that writes an entry to an export's log, by default always. */
export const logWhere = (
	db: Database,
	{ batch_export_id: owner, run_id: run = null, level, message, more = [] }: Entry,
	condition: SQL = sql`true`,
) => append(db, EXPORT_LOGS, { owner, run, entries: [{ level, message }, ...more] }, condition);
