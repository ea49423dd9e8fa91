import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { created_at } from "./columns.ts";
import { organizations } from "./organizations.ts";
import { users } from "./users.ts";

/**
 * Service accounts. An account's access is stored like a user's: its row in `users` has the keys,
 * its row in `members` the level, and its rows in `project_members` its private projects.
 *
 * Trigger `service_accounts_delete`, after a delete: deletes the account's keys and memberships, and
 * deactivates its user.
 */
export const serviceAccounts = sqliteTable(
	"service_accounts",
	{
		id: text().notNull(),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		user_id: integer()
			.notNull()
			.unique()
			.references(() => users.id),
		name: text().notNull(),
		created_by: integer()
			.notNull()
			.references(() => users.id),
		created_at: created_at(),
	},
	(t) => [primaryKey({ columns: [t.organization_id, t.id] })],
);
