import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { boolean, created_at, id, updated_at } from "./columns.ts";
import { organizations } from "./organizations.ts";
import { users } from "./users.ts";

export const members = sqliteTable(
	"members",
	{
		id: id(),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		level: integer().notNull(),
		joined_at: created_at(),
		updated_at: updated_at(),
		/** `users.is_active`, but false for service accounts; maintained by triggers, so that an index of members contains it. */
		is_active: boolean().notNull().default(true),
	},
	(t) => [
		uniqueIndex("members_organization_user").on(t.organization_id, t.user_id),
		index("members_organization").on(t.organization_id, t.is_active, t.joined_at, t.id),
		// Includes the columns that the list is sorted by.
		index("members_updated").on(t.organization_id, t.is_active, t.updated_at, t.joined_at, t.id),
		index("members_level").on(t.organization_id, t.level),
		uniqueIndex("members_user").on(t.user_id, t.organization_id),
	],
);
