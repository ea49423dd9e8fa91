import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at, list } from "./columns.ts";
import { users } from "./users.ts";

/** Passkeys (WebAuthn credentials) of users (docs/keys.md#signing-in). */
export const passkeys = sqliteTable(
	"passkeys",
	{
		/** The authenticator's id of the credential, base64url. */
		credential_id: text().primaryKey(),
		/** What the API shows as the id. */
		id: text().notNull().$defaultFn(v7),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		name: text().notNull(),
		/** COSE, base64url. */
		public_key: text().notNull(),
		/** The authenticator's number of signatures; 0 if it doesn't count. */
		sign_count: integer().notNull(),
		transports: list<string>(),
		/** Whether it is synchronized between devices. */
		is_backed_up: boolean().notNull(),
		created_at: created_at(),
		last_used_at: text(),
	},
	(t) => [index("passkeys_user").on(t.user_id)],
);
