import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { append, type Logs } from "../../db/log.ts";
import { pluginLogs } from "../../db/schema/plugin_configs.ts";
import { now } from "../../lib/now.ts";
import type { Entry } from "./run_log.ts";

export const PLUGIN_LOGS: Logs = { table: pluginLogs, owner: pluginLogs.plugin_config_id };

/** Returns a statement that adds SYSTEM entries. */
export const logSystem = (db: Database, config: number | SQL<number>, messages: string[]) => {
	const entries = messages.map((message) => systemEntry("INFO", message));
	return append(db, PLUGIN_LOGS, { owner: config, entries }, sql`true`);
};

export const systemEntry = (level: Entry["level"], message: string): Entry => ({
	timestamp: now(),
	source: "SYSTEM",
	level,
	message,
});
