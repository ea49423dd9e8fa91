import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at, updated_at } from "./columns.ts";
import { organizations } from "./organizations.ts";
import { users } from "./users.ts";

/**
 * Trigger `members_insert`, after an insert: counts `organizations.active_members`, and makes members
 * inactive who are service accounts or deactivated.
 * Trigger `members_delete`, after a delete: uncounts the member, and removes it from the `break_glass`
 * of the organization's domains.
 */
export const members = sqliteTable(
	"members",
	{
		id: text().notNull().$defaultFn(v7),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		level: integer().notNull(),
		joined_at: created_at(),
		updated_at: updated_at(),
		/**
		 * `users.is_active`, but false for service accounts, for an index of members. By the triggers
		 * `members_insert` and `users_activity`.
		 */
		is_active: boolean().notNull().default(true),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.user_id] }),
		index("members_organization").on(t.organization_id, t.is_active, t.joined_at, t.id),
		// Few members are admins, so that most writes don't change it.
		index("members_admins").on(t.organization_id, t.level).where(sql`level >= 8`),
		index("members_user").on(t.user_id, t.organization_id),
	],
);

/** WHERE clause: at least an admin, as a literal, so that SQLite uses the index of admins. */
export const isAdminLevel = sql`${members.level} >= 8`;
