import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { created_at, id } from "./columns.ts";
import { organizations } from "./organizations.ts";
import { users } from "./users.ts";

/**
 * An account's access is that of a user: its row of `users` has the keys, that of `members` the
 * level, and those of `project_members` its private projects. A trigger ends all of it when the
 * account is deleted.
 */
export const serviceAccounts = sqliteTable(
	"service_accounts",
	{
		id: id(),
		organization_id: text()
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
	(t) => [index("service_accounts_organization").on(t.organization_id, t.id)],
);
