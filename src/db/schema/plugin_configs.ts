import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at, map, updated_at } from "./columns.ts";
import { logContent, logPosition } from "./log.ts";
import { plugins } from "./plugins.ts";
import { projects } from "./projects.ts";

export const pluginConfigs = sqliteTable(
	"plugin_configs",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		/** The row id for encrypting secrets. Unlike `id`, it is known before the insert. */
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
		/** Numbers of the last 24 hours by result, such as `{"2026-01-01T07 done": 5}`. */
		results: map<Record<string, number>>().default({}),
		/** Part of the id of the isolate that runs its jobs; raised by each failure (jobs/work.ts). */
		generation: integer().notNull().default(0),
		/** null: the plugin's name. */
		name: text(),
		description: text(),
		deleted: boolean().notNull().default(false),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		index("plugin_configs_project").on(t.project_id, t.plugin_id),
		index("plugin_configs_plugin").on(t.plugin_id),
	],
);

/** The logs of configs. Without row ids, so that a row is written once. */
export const pluginLogs = sqliteTable(
	"plugin_logs",
	{
		plugin_config_id: integer()
			.notNull()
			.references(() => pluginConfigs.id, { onDelete: "cascade" }),
		...logPosition(),
		...logContent(),
	},
	(t) => [primaryKey({ columns: [t.plugin_config_id, t.position] })],
);
