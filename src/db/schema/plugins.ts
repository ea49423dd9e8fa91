import { sql } from "drizzle-orm";
import {
	index,
	integer,
	primaryKey,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { boolean, counter, created_at, map, updated_at } from "./columns.ts";
import { organizations } from "./organizations.ts";

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

export const plugins = sqliteTable(
	"plugins",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		organization_id: text()
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
		 * When the files that the compiler failed to compile are compiled again; null if there are none, or if their capabilities
		 * were set by hand since.
		 */
		compile_at: text(),
		/** The families of the plugin: the sum of 1, 2 and 4 (plugins/families.ts). */
		families: integer().generatedAlwaysAs(sql.raw(`(${FAMILY_BITS})`), { mode: "virtual" }),
		/** Whether its own organization has an enabled config of it; maintained by triggers. */
		is_used: boolean().notNull().default(false),
		/** The number of entries about it in its organization's activity log; maintained by triggers. */
		activity_entries: counter(),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		uniqueIndex("plugins_organization_url").on(t.organization_id, t.url),
		index("plugins_organization").on(t.organization_id, t.id),
		index("plugins_global").on(t.id).where(sql`is_global`),
		index("plugins_compile").on(t.compile_at).where(sql`compile_at is not null`),
		// Indexes for each family, so that a list doesn't read the plugins of other families.
		...[
			{ name: "destinations", holds: "families & 1" },
			{ name: "frontend_apps", holds: "families & 2" },
			{ name: "import_apps", holds: "families & 4" },
		].flatMap(({ name, holds }) => [
			index(`plugins_${name}`).on(t.organization_id, t.id).where(sql.raw(holds)),
			index(`plugins_unused_${name}`)
				.on(t.organization_id, t.id)
				.where(sql.raw(`${holds} and not is_used`)),
			index(`plugins_global_${name}`)
				.on(t.id)
				.where(sql.raw(`${holds} and is_global`)),
		]),
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
		 * JavaScript: for a main file, the script that jobs run; for site.ts and frontend.tsx, the module for browsers. A file with neither this nor an error is compiled when it is used, or by a tick.
		 */
		compiled: text(),
		/** The compile error, if any. */
		error: text(),
		updated_at: updated_at(),
	},
	(t) => [primaryKey({ columns: [t.plugin_id, t.filename] })],
);

/** The number of plugins of an organization, by the columns that lists are filtered by; maintained by triggers. */
export const pluginCounts = sqliteTable(
	"plugin_counts",
	{
		organization_id: text().notNull(),
		is_global: boolean().notNull(),
		families: integer().notNull(),
		is_used: boolean().notNull(),
		plugins: integer().notNull(),
		/** The sum of their `activity_entries`. */
		activity_entries: integer().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.is_global, t.families, t.is_used] }),
		index("plugin_counts_global").on(t.organization_id).where(sql`is_global`),
	],
);

/** The number of an organization's enabled configs of destinations, by the families of their plugins; maintained by triggers. */
export const pluginConfigCounts = sqliteTable(
	"plugin_config_counts",
	{
		organization_id: text().notNull(),
		families: integer().notNull(),
		enabled_configs: integer().notNull(),
	},
	(t) => [primaryKey({ columns: [t.organization_id, t.families] })],
);

/** The plugins for which an organization has configs that aren't deleted; maintained by triggers. */
export const pluginUses = sqliteTable(
	"plugin_uses",
	{
		organization_id: text().notNull(),
		plugin_id: integer().notNull(),
		/** Whether the plugin is the organization's own. */
		is_own: boolean().notNull(),
		configs: integer().notNull(),
		enabled_configs: integer().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.plugin_id] }),
		index("plugin_uses_foreign").on(t.organization_id, t.plugin_id).where(sql`not is_own`),
	],
);

/** In `plugin_activity.families`: the families must be read from `plugins`. */
export const LOOKED_UP = 8;

/**
 * An index of the activity log: the entries about an organization's own plugins, with the current families of the plugin;
 * maintained by triggers. After 200 entries about a plugin, new ones have `LOOKED_UP` instead, so that a change of its families
 * writes a limited number of rows.
 */
export const pluginActivity = sqliteTable(
	"plugin_activity",
	{
		/** This column and the next five are copied from the entry. */
		position: integer().primaryKey(),
		id: text().notNull(),
		organization_id: text().notNull(),
		user_id: integer(),
		activity: text().notNull(),
		created_at: text().notNull(),
		plugin_id: integer().notNull(),
		families: integer().notNull(),
	},
	(t) => [
		index("plugin_activity_plugin").on(t.plugin_id).where(sql`families < 8`),
		index("plugin_activity_created").on(t.organization_id, t.families, t.created_at, t.id),
		index("plugin_activity_user").on(t.organization_id, t.families, t.user_id, t.created_at, t.id),
		index("plugin_activity_activity").on(
			t.organization_id,
			t.families,
			t.activity,
			t.created_at,
			t.id,
		),
	],
);
