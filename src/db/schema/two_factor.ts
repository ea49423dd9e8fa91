import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { now } from "../../lib/now.ts";
import { users } from "./users.ts";

/**
 * The second factor of a user: time-based codes (RFC 6238), and the attempts with any factor. A user
 * with passkeys has a row, too.
 */
export const twoFactors = sqliteTable("two_factors", {
	user_id: integer()
		.primaryKey()
		.references(() => users.id, { onDelete: "cascade" }),
	/** Encrypted; null: the user has only passkeys. */
	secret: text(),
	/** null: the user hasn't proven yet to have the secret. */
	confirmed_at: text(),
	/** The time step of the latest used code. Codes of this and earlier time steps are rejected. */
	last_step: integer().notNull().default(0),
	/** The number of wrong codes since `attempts_since`, plus the codes that are being checked. */
	attempts: integer().notNull().default(0),
	attempts_since: text().notNull().$defaultFn(now),
});

/** Codes for users who lost their device. A row is deleted when its code is used. */
export const recoveryCodes = sqliteTable(
	"recovery_codes",
	{
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		/** HMAC of the code (`digests` in src/keys/secrets.ts). */
		digest: text().notNull(),
	},
	(t) => [primaryKey({ columns: [t.user_id, t.digest] })],
);
