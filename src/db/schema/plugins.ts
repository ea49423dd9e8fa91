import { sql } from "drizzle-orm";
import {
	index,
	integer,
	primaryKey,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { boolean, created_at, map, updated_at } from "./columns.ts";
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
