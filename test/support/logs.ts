import { eq, sql } from "drizzle-orm";
import { batchExportLogs } from "../../src/db/schema/batch_exports.ts";
import type { StoredEntry } from "../../src/db/schema/log.ts";
import { append, type NewEntry } from "../../src/db/stored_log.ts";
import { EXPORT_LOGS } from "../../src/exports/engine/run_log.ts";
import { PLUGIN_LOGS } from "../../src/plugins/jobs/run_log.ts";
import { db, rowOf } from "./world.ts";

/** Adds an entry to the log of an export. Entries must be added oldest first. */
export const logOfExport = (
	batch_export_id: string,
	{ run = null, ...entry }: Partial<NewEntry> & { run?: string | null },
) =>
	append(
		db,
		EXPORT_LOGS,
		{ owner: rowOf(batch_export_id), run, entries: [{ level: "INFO", message: "x", ...entry }] },
		sql`true`,
	);

/** Adds an entry to the log of a plugin config. Entries must be added oldest first. */
export const logOfConfig = (config: number, entry: Partial<NewEntry>) =>
	append(
		db,
		PLUGIN_LOGS,
		{ owner: config, entries: [{ level: "LOG", source: "CONSOLE", message: "x", ...entry }] },
		sql`true`,
	);

/** Returns the stored entries of an export, oldest first. */
export async function storedEntries(batch_export_id: string) {
	const rows = await db
		.select()
		.from(batchExportLogs)
		.where(eq(batchExportLogs.batch_export_id, rowOf(batch_export_id)))
		.orderBy(batchExportLogs.position);
	return rows.flatMap(({ run_id, entries }) =>
		(JSON.parse(entries) as StoredEntry[])
			.reverse()
			.map(([at, level, message]) => ({ at, level, message, run_id })),
	);
}
