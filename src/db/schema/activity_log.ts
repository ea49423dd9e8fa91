import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at, list } from "./columns.ts";
import { users } from "./users.ts";

/** One changed field in an entry of the activity log. */
export type Change = {
	field: string;
	action: "created" | "changed" | "deleted";
	before: unknown;
	after: unknown;
};

/**
 * The activity log and the event feed. The only foreign key is the user's, because entries outlive the objects that they are
 * about.
 */
export const activityLog = sqliteTable(
	"activity_log",
	{
		/**
		 * The position in the feed. D1 runs one write at a time and assigns the position during the write. So positions are in the
		 * order in which writes became visible, and none is used twice.
		 */
		position: integer().primaryKey({ autoIncrement: true }),
		id: text().notNull().unique().$defaultFn(v7),
		organization_id: integer(),
		project_id: integer(),
		/** null: the operator, or nobody if `is_system`. */
		user_id: integer().references(() => users.id),
		activity: text().notNull(),
		scope: text().notNull(),
		item_id: text().notNull(),
		name: text(),
		changes: list<Change>(),
		trigger: text({ mode: "json" }).$type<Record<string, unknown>>(),
		/** Whether it happened without a caller. Such entries are in the event feed, but not in the pages of the log. */
		is_system: boolean().notNull().default(false),
		created_at: created_at(),
	},
	(t) => [
		index("activity_log_organization")
			.on(t.organization_id, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_project").on(t.project_id, t.created_at, t.id).where(sql`not is_system`),
		index("activity_log_item")
			.on(t.organization_id, t.item_id, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_scope")
			.on(t.organization_id, t.scope, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_activity")
			.on(t.organization_id, t.activity, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_user")
			.on(t.organization_id, t.user_id, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_created").on(t.created_at),
		index("activity_log_feed").on(t.organization_id, t.position),
		index("activity_log_project_feed").on(t.organization_id, t.project_id, t.position),
		index("activity_log_type").on(t.organization_id, t.scope, t.activity, t.position),
	],
);

/**
 * The number of log entries without those of the system; maintained by triggers, so that pages don't count them. `project_id` 0
 * means no project.
 */
export const activityCounts = sqliteTable(
	"activity_counts",
	{
		organization_id: integer().notNull(),
		project_id: integer().notNull(),
		entries: integer().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.project_id] }),
		index("activity_counts_project").on(t.project_id),
	],
);
