import { sql } from "drizzle-orm";
import {
	index,
	integer,
	primaryKey,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { created_at } from "./columns.ts";
import { pluginConfigs } from "./plugin_configs.ts";

/** The queue of plugin jobs and scheduled tasks, with the state of each. */
export const pluginJobs = sqliteTable(
	"plugin_jobs",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		plugin_config_id: integer()
			.notNull()
			.references(() => pluginConfigs.id, { onDelete: "cascade" }),
		/** The config's organization; set by a trigger. */
		organization_id: integer().notNull().default(0),
		/** The position in the queue; set by a trigger (jobs/queue.ts). */
		turn: integer().notNull().default(0),
		kind: text({ enum: ["job", "task"] }).notNull(),
		name: text().notNull(),
		payload: text({ mode: "json" }).$type<unknown>(),
		/** For a task, the minute that it runs for. A task runs once per minute. */
		scheduled_for: text(),
		status: text({ enum: ["queued", "running", "done", "failed"] })
			.notNull()
			.default("queued"),
		/** For a task, the minute in which it was queued. */
		created_at: created_at(),
		started_at: text(),
		finished_at: text(),
	},
	(t) => [
		uniqueIndex("plugin_jobs_task").on(t.plugin_config_id, t.name, t.scheduled_for),
		index("plugin_jobs_config").on(t.plugin_config_id, t.finished_at),
		index("plugin_jobs_turn").on(t.turn).where(sql`status = 'queued'`),
		index("plugin_jobs_organization").on(t.organization_id, t.turn).where(sql`status = 'queued'`),
		index("plugin_jobs_running").on(t.started_at).where(sql`status = 'running'`),
		// For the limits on how many tasks an organization has queued, in total and in a minute.
		index("plugin_jobs_tasks")
			.on(t.organization_id, t.status, t.created_at)
			.where(sql`kind = 'task'`),
		index("plugin_jobs_finished").on(t.finished_at),
	],
);

/** The key-value storage of plugins, separate for each config. */
export const pluginStorage = sqliteTable(
	"plugin_storage",
	{
		plugin_config_id: integer()
			.notNull()
			.references(() => pluginConfigs.id, { onDelete: "cascade" }),
		/** A keyed digest of the key. */
		key: text().notNull(),
		/** The size of the key and the JSON, in bytes. In front of the value, so that a sum doesn't read values. */
		bytes: integer().notNull(),
		/** JSON, encrypted. */
		value: text().notNull(),
	},
	(t) => [primaryKey({ columns: [t.plugin_config_id, t.key] })],
);
