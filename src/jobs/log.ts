import { sql } from "drizzle-orm";
import { v7 } from "uuid";
import type { Database } from "../db/client.ts";
import { pluginLogEntries } from "../db/schema.ts";
import type { Entry } from "./sandbox.ts";

/** Whose log it is. */
export type Place = {
	team_id: number;
	plugin_id: number;
	plugin_config_id: number;
};

/** The statement that writes entries, all of one run: they go in as one value, however many they are. */
export function write(
	db: Database,
	{ team_id, plugin_id, plugin_config_id }: Place,
	entries: Entry[],
) {
	const instance_id = v7();
	const rows = entries.map((entry) => ({ id: v7(), ...entry }));
	return db.insert(pluginLogEntries).select(
		sql`select value ->> 'id', ${team_id}, ${plugin_id}, ${plugin_config_id}, value ->> 'timestamp', value ->> 'source',
			value ->> 'type', value ->> 'message', ${instance_id} from json_each(${JSON.stringify(rows)})`,
	);
}

/** A step of our own. */
export const step = (type: Entry["type"], message: string): Entry => ({
	timestamp: new Date().toISOString(),
	source: "SYSTEM",
	type,
	message,
});
