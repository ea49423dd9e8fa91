import { type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { type Database, insertWhere } from "../db/client.ts";
import { now } from "../db/now.ts";
import { pluginLogEntries } from "../db/schema/plugin_configs.ts";
import type { Entry } from "./run_log.ts";

/** The config that a log entry belongs to. */
export type ConfigRef = {
	team_id: number;
	plugin_id: number;
	plugin_config_id: number;
};

/**
 * A message has up to 4,000 characters, each up to six bytes in JSON. 50 messages stay below D1's
 * limit of 2 MB for a value.
 */
const ENTRIES_PER_STATEMENT = 50;

/**
 * Returns statements that insert the log entries of one run if `condition` is true. Each binds its
 * entries as one JSON value.
 */
export function insertEntries(
	db: Database,
	{ team_id, plugin_id, plugin_config_id }: ConfigRef,
	entries: Entry[],
	condition: SQL,
) {
	const instance_id = v7();
	const rows = entries.map((entry) => ({ id: v7(), ...entry }));
	const batches = Array.from({ length: Math.ceil(rows.length / ENTRIES_PER_STATEMENT) }, (_, i) =>
		rows.slice(i * ENTRIES_PER_STATEMENT, (i + 1) * ENTRIES_PER_STATEMENT),
	);
	return batches.map((batch) =>
		db.insert(pluginLogEntries).select(
			sql`select null, value ->> 'id', ${team_id}, ${plugin_id}, ${plugin_config_id}, value ->> 'timestamp', value ->> 'source',
			value ->> 'type', value ->> 'message', ${instance_id} from json_each(${JSON.stringify(batch)}) where ${condition}`,
		),
	);
}

/** Returns a statement that inserts a SYSTEM entry if `condition` is true. */
export const logWhere = (
	db: Database,
	ref: { [K in keyof ConfigRef]: ConfigRef[K] | SQL<number> },
	message: string,
	condition: SQL,
) =>
	insertWhere(
		db,
		pluginLogEntries,
		{ ...ref, source: "SYSTEM", type: "INFO", message, instance_id: v7() },
		condition,
	);

export const systemEntry = (type: Entry["type"], message: string): Entry => ({
	timestamp: now(),
	source: "SYSTEM",
	type,
	message,
});
