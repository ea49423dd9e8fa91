import { type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { type Database, insertWhere } from "../db/client.ts";
import { pluginLogEntries } from "../db/schema.ts";
import type { Entry } from "./sandbox.ts";

/** Whose log it is. */
export type ConfigRef = {
	team_id: number;
	plugin_id: number;
	plugin_config_id: number;
};

/** So many that their texts, of 4,000 characters that JSON may write with six bytes each, stay below D1's 2 MB for a value. */
const ENTRIES_PER_STATEMENT = 50;

/** The statements that write the entries of one run where `condition` holds: many go in as one value. */
export function write(
	db: Database,
	{ team_id, plugin_id, plugin_config_id }: ConfigRef,
	entries: Entry[],
	condition: SQL,
) {
	const instance_id = v7();
	const rows = entries.map((entry) => ({ id: v7(), ...entry }));
	const parts = Array.from({ length: Math.ceil(rows.length / ENTRIES_PER_STATEMENT) }, (_, i) =>
		rows.slice(i * ENTRIES_PER_STATEMENT, (i + 1) * ENTRIES_PER_STATEMENT),
	);
	return parts.map((part) =>
		db.insert(pluginLogEntries).select(
			sql`select value ->> 'id', ${team_id}, ${plugin_id}, ${plugin_config_id}, value ->> 'timestamp', value ->> 'source',
			value ->> 'type', value ->> 'message', ${instance_id} from json_each(${JSON.stringify(part)}) where ${condition}`,
		),
	);
}

/** The statement that logs a step of our own where `condition` holds. */
export const logIfChanged = (
	db: Database,
	place: { [K in keyof ConfigRef]: ConfigRef[K] | SQL<number> },
	message: string,
	condition: SQL,
) =>
	insertWhere(
		db,
		pluginLogEntries,
		{ ...place, source: "SYSTEM", type: "INFO", message, instance_id: v7() },
		condition,
	);

/** A step of our own. */
export const step = (type: Entry["type"], message: string): Entry => ({
	timestamp: new Date().toISOString(),
	source: "SYSTEM",
	type,
	message,
});
