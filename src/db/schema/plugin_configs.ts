import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, counter, created_at, map, updated_at } from "./columns.ts";
import { plugins } from "./plugins.ts";
import { projects } from "./projects.ts";

export const pluginConfigs = sqliteTable(
	"plugin_configs",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		/**
		 * The row id with which secrets are encrypted. Unlike `id`, it is known before the row is
		 * inserted.
		 */
		uuid: text().notNull().$defaultFn(v7),
		project_id: integer()
			.notNull()
			.references(() => projects.id, { onDelete: "cascade" }),
		organization_id: integer().notNull(),
		plugin_id: integer()
			.notNull()
			.references(() => plugins.id, { onDelete: "cascade" }),
		enabled: boolean().notNull().default(false),
		/** When it was last enabled. */
		enabled_at: text(),
		order: integer().notNull(),
		/** Secret fields are encrypted one by one. */
		config: map<Record<string, unknown>>().default({}),
		/** The message of the latest error. */
		error: text(),
		/** How many jobs were `done` and how many `failed` in each of the last 24 hours, such as `{"2026-01-01T07 done": 5}`. */
		results: map<Record<string, number>>().default({}),
		/** Part of the id of the isolate that runs its jobs; raised by each failure (jobs/work.ts). */
		generation: integer().notNull().default(0),
		/** null: the plugin's name. */
		name: text(),
		description: text(),
		deleted: boolean().notNull().default(false),
		/** The number of log entries, in total and by type; maintained by triggers. */
		log_entries: counter(),
		debug_entries: counter(),
		log_type_entries: counter(),
		info_entries: counter(),
		warn_entries: counter(),
		error_entries: counter(),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		index("plugin_configs_project").on(t.project_id, t.plugin_id),
		index("plugin_configs_plugin").on(t.plugin_id),
	],
);

export const pluginLogEntries = sqliteTable(
	"plugin_log_entries",
	{
		/** The row's number, in the order of insertion. */
		position: integer().primaryKey(),
		id: text().notNull().unique().$defaultFn(v7),
		team_id: integer().notNull(),
		plugin_id: integer().notNull(),
		plugin_config_id: integer()
			.notNull()
			.references(() => pluginConfigs.id, { onDelete: "cascade" }),
		timestamp: created_at(),
		source: text({ enum: ["SYSTEM", "PLUGIN", "CONSOLE"] }).notNull(),
		type: text({ enum: ["DEBUG", "LOG", "INFO", "WARN", "ERROR"] }).notNull(),
		message: text().notNull(),
		instance_id: text().notNull(),
	},
	(t) => [
		// A page of all types merges one range of this index per type.
		index("plugin_log_entries_config").on(t.plugin_config_id, t.type, t.timestamp, t.id),
		index("plugin_log_entries_timestamp").on(t.timestamp),
	],
);
