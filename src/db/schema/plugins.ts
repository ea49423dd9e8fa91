import { sql } from "drizzle-orm";
import {
	index,
	integer,
	primaryKey,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at, map, updated_at } from "./columns.ts";
import { logContent, logPosition } from "./log.ts";
import { organizations, projects } from "./organizations.ts";

/** The exports of a plugin's code. Empty lists are omitted. */
export type Capabilities = {
	methods?: string[] | undefined;
	jobs?: string[] | undefined;
	scheduled_tasks?: string[] | undefined;
};

/** SQL condition: the JSON list of a plugin's methods contains one of these. */
const hasMethod = (...names: string[]) =>
	names
		.map((name) => `instr(coalesce(capabilities ->> '$.methods', ''), '"${name}"')`)
		.join(" or ");

/** SQL for the families of a plugin, by its `capabilities` (docs/plugins.md#families). */
const FAMILY_BITS = `iif(${hasMethod("onEvent", "exportEvents", "composeWebhook")}, 1, 0)
  + iif(capabilities ->> '$.methods' is null and capabilities ->> '$.scheduled_tasks' is null, 2, 0)
  + iif(json_array_length(coalesce(capabilities -> '$.scheduled_tasks', '[]')) > 0
    or (capabilities ->> '$.methods' is not null
      and not (${hasMethod("onEvent", "exportEvents", "composeWebhook", "processEvent")})), 4, 0)`;

/** Trigger `plugins_access`, after a delete: deletes the access controls about the plugin. */
export const plugins = sqliteTable(
	"plugins",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		plugin_type: text().notNull(),
		name: text().notNull().default(""),
		description: text().notNull().default(""),
		/** Without its query string, which may contain a token. */
		url: text(),
		/** The access token of a private repository, encrypted. */
		private_token: text(),
		icon: text(),
		config_schema: map<unknown[] | Record<string, unknown>>().default([]),
		tag: text(),
		latest_tag: text(),
		is_global: boolean().notNull().default(false),
		capabilities: map<Capabilities>(),
		metrics: map<Record<string, "sum" | "min" | "max">>().default({}),
		public_jobs: map<Record<string, unknown>>().default({}),
		/**
		 * When the files that the compiler failed to compile are compiled again; null if there are
		 * none, or if their capabilities were set by hand since.
		 */
		compile_at: text(),
		/** The families of the plugin: the sum of 1, 2 and 4 (plugins/families.ts). */
		families: integer().generatedAlwaysAs(sql.raw(`(${FAMILY_BITS})`), { mode: "virtual" }),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		uniqueIndex("plugins_organization_url").on(t.organization_id, t.url),
		index("plugins_global").on(t.id).where(sql`is_global`),
		index("plugins_compile").on(t.compile_at).where(sql`compile_at is not null`),
		// For the search for scheduled tasks, which runs every minute.
		index("plugins_tasks").on(t.id).where(sql`capabilities ->> '$.scheduled_tasks' is not null`),
	],
);

export const pluginSourceFiles = sqliteTable(
	"plugin_source_files",
	{
		plugin_id: integer()
			.notNull()
			.references(() => plugins.id, { onDelete: "cascade" }),
		filename: text().notNull(),
		source: text().notNull(),
		/**
		 * JavaScript: for a main file, the script that jobs run; for site.ts and frontend.tsx, the
		 * module for browsers. A file with neither this nor an error is compiled when it is used, or by
		 * a tick.
		 */
		compiled: text(),
		/** The compile error, if any. */
		error: text(),
		updated_at: updated_at(),
	},
	(t) => [primaryKey({ columns: [t.plugin_id, t.filename] })],
);

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

/** SQL condition on `plugin_configs`: the config has secrets, or storage, which can contain some. */
export const keepsSecrets = sql`(
	exists (select 1 from json_each(plugin_configs.config) as field where field.value glob 'sealed:*')
	or exists (select 1 from plugin_storage where plugin_storage.plugin_config_id = plugin_configs.id))`;

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
