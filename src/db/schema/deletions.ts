import { sql } from "drizzle-orm";
import {
	customType,
	index,
	integer,
	primaryKey,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { now } from "../../lib/time.ts";
import { map, moment } from "./columns.ts";

/** The objects that are kept after their deletion, with the scopes of their events. */
export const KEPT_SCOPES = {
	organization: "Organization",
	project: "Project",
	batch_export: "BatchExport",
	webhook: "Webhook",
	plugin: "Plugin",
	plugin_config: "PluginConfig",
} as const;

export type KeptType = keyof typeof KEPT_SCOPES;

/**
 * Objects that were deleted and can be restored
 * (docs/internals/decisions/0022-deletions.md). No foreign keys, since what they refer to may be
 * deleted too.
 */
export const deletions = sqliteTable(
	"deletions",
	{
		/** Never used again: `batch_exports.deleted` refers to it. */
		id: integer().primaryKey({ autoIncrement: true }),
		organization_id: integer().notNull(),
		/** The project that the object was in; of a project, its own id. */
		project_id: integer(),
		type: text().$type<KeptType>().notNull(),
		/** The object's id in the API. */
		item_id: text().notNull(),
		name: text().notNull(),
		deleted_by: integer(),
		deleted_at: moment().notNull().$defaultFn(now),
		/** The access controls about it, as `[role_id, user_id, access_level]`; null if it can't have any. */
		controls: text({ mode: "json" }).$type<[string | null, number | null, number][]>(),
		/** JSON: the ids of the projects that were deleted with it, whose events are kept. */
		projects: text({ mode: "json" }).$type<number[]>(),
		/** The key of the last file that the removal for good has looked at; null: none yet. */
		files_until: text(),
		/** JSON: what its plugin configs need besides it, as `[type, id, number of configs]`. */
		needs: text({ mode: "json" }).$type<[KeptType, number, number][]>(),
		/** The names of the columns of each table in `deleted_rows`, in their order. */
		columns: map<Record<string, string[]>>(),
		/** The object as the API showed it. The last column, so that others are read without it. */
		shown: map<Record<string, unknown>>(),
	},
	(t) => [
		uniqueIndex("deletions_item").on(t.type, t.item_id),
		index("deletions_organization").on(t.organization_id, t.type, t.id),
		index("deletions_projects").on(t.id).where(sql`projects is not null`),
	],
);

/** Without an affinity, so that a value comes back as it was stored. */
const value = customType<{ data: unknown }>({ dataType: () => "blob" });

/** More than any table has that is kept (test/deletions/kept.unit.test.ts). */
export const MAX_COLUMNS = 40;

/** The column of `deleted_rows` with the value of a table's column. */
export const valueColumn = (index: number) => sql.identifier(`v${index}`);

/**
 * SQL for the value that a row of `deleted_rows` has for a column of a table, in a statement with its
 * row of `deletions`. Slower than `valueColumn`, for those who don't know the order of the columns.
 */
export const storedValue = (table: string, column: string) => {
	const cases = Array.from(
		{ length: MAX_COLUMNS },
		(_, i) => sql`when ${sql.raw(String(i))} then deleted_rows.${valueColumn(i)}`,
	);
	return sql`case (select key from json_each(deletions.columns, ${sql.raw(`'$.${table}'`)})
		where value = ${sql.raw(`'${column}'`)}) ${sql.join(cases, sql` `)} end`;
};

/** The rows of deleted objects. WITHOUT ROWID (in the migration). */
export const deletedRows = sqliteTable(
	"deleted_rows",
	{
		deletion_id: integer().notNull(),
		/** The name of the row's table. */
		table: text().notNull(),
		number: integer().notNull(),
		/** Of a plugin config with secrets: whose code gets them once it is restored. */
		plugin_id: integer(),
		...Object.fromEntries(Array.from({ length: MAX_COLUMNS }, (_, i) => [`v${i}`, value()])),
	},
	(t) => [
		primaryKey({ columns: [t.deletion_id, t.table, t.number] }),
		index("deleted_rows_plugin").on(t.plugin_id).where(sql`plugin_id is not null`),
	],
);

/**
 * The links that restore an organization, which its owners were mailed. Deleted together with the
 * deletion.
 */
export const restoreLinks = sqliteTable(
	"restore_links",
	{
		/** SHA-256 of the token in the link, hex. The token itself isn't stored. */
		token_hash: text().primaryKey(),
		deletion_id: integer().notNull(),
		user_id: integer().notNull(),
	},
	(t) => [index("restore_links_deletion").on(t.deletion_id)],
);
