import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { pluginConfigs } from "./plugin_configs.ts";

/**
 * The queue of plugin jobs and scheduled tasks (jobs/queue.ts). A row is deleted when its job ends.
 * Rows have no foreign key, because SQLite would need an index for it: the row of a deleted config
 * is deleted at its turn.
 */
export const pluginJobs = sqliteTable(
	"plugin_jobs",
	{
		turn: integer().notNull(),
		/** Random, because events of failed jobs refer to it after the row is deleted. */
		id: integer().notNull().default(sql`(abs(random() >> 11))`),
		organization_id: integer().notNull(),
		plugin_config_id: integer().notNull(),
		kind: text({ enum: ["job", "task"] }).notNull(),
		name: text().notNull(),
		/** null: the job is waiting. Later than this, a job that hasn't ended was interrupted. */
		lease_expires_at: text(),
		payload: text({ mode: "json" }).$type<unknown>(),
	},
	(t) => [
		primaryKey({ columns: [t.turn, t.id] }),
		index("plugin_jobs_organization").on(t.organization_id, t.turn),
	],
);

/** A single row: the latest minute whose scheduled tasks were queued (jobs/tasks.ts). */
export const taskMinutes = sqliteTable("task_minutes", {
	id: integer().primaryKey(),
	minute: text().notNull(),
	/** Daily and hourly tasks that were dropped in this minute. The next tick tries them again. */
	dropped: text({ mode: "json" })
		.$type<{ config: number; name: string; begun: string }[]>()
		.notNull()
		.default([]),
});

/** The key-value storage of plugins, separate for each config. */
export const pluginStorage = sqliteTable(
	"plugin_storage",
	{
		plugin_config_id: integer()
			.notNull()
			.references(() => pluginConfigs.id, { onDelete: "cascade" }),
		/** A keyed digest of the key. */
		key: text().notNull(),
		/** The size of the key and the JSON in bytes, before the value, to sum without reading it. */
		bytes: integer().notNull(),
		/** JSON, encrypted. */
		value: text().notNull(),
	},
	(t) => [primaryKey({ columns: [t.plugin_config_id, t.key] })],
);
