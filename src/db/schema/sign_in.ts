import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { created_at, id } from "./columns.ts";
import { users } from "./users.ts";

/** Mailed sign-in links (docs/keys.md#signing-in). Rows are deleted after an hour. */
export const signIns = sqliteTable(
	"sign_ins",
	{
		id: id(),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		/** SHA-256 of the token in the link, hex. The token itself isn't stored. */
		token_hash: text().notNull().unique(),
		created_at: created_at(),
		/** The same as `created_at` if the mail had no link. */
		expires_at: text().notNull(),
		/** The number of second-factor codes that were tried with the link. */
		attempts: integer().notNull().default(0),
		/** The key that was created with the link; null if it hasn't been used. */
		key_id: text(),
	},
	// No index finds the old rows, because the table has only those of an hour.
	(t) => [index("sign_ins_user").on(t.user_id, t.created_at)],
);
