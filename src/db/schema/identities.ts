import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { created_at } from "./columns.ts";
import { users } from "./users.ts";

/**
 * Accounts at providers that sign users in (docs/sign-on.md).
 *
 * Trigger `identities_insert`, after an insert: sets `users.has_social_auth`.
 * Trigger `identities_delete`, after a delete: clears it with the user's last identity, and deletes
 * the sessions that were started with the identity's connection.
 */
export const identities = sqliteTable(
	"identities",
	{
		/** `google-oauth2`, `github`, `gitlab`, `saml:<domain id>` or `oidc:<domain id>`. */
		connection: text().notNull(),
		/** The provider's id of the account, which never changes (`sub`, NameID). */
		subject: text().notNull(),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		/** The address that the provider reported when the identity was linked. */
		email: text().notNull(),
		created_at: created_at(),
		last_used_at: text(),
	},
	(t) => [
		primaryKey({ columns: [t.connection, t.subject] }),
		index("identities_user").on(t.user_id),
	],
);
