import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at, updated_at } from "./columns.ts";
import { organizations } from "./organizations.ts";
import { users } from "./users.ts";

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
		/** `users.is_active`, but false for service accounts; by triggers, for an index of members. */
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
