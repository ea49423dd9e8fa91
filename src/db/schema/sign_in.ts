import { and, gt, isNull, lt, sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { HOUR_MS, MINUTE_MS } from "../../lib/durations.ts";
import { now } from "../../lib/now.ts";
import { boolean, created_at, id, map } from "./columns.ts";
import { identities } from "./identities.ts";
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
		/** As in `Session`: how the user proved who they are. */
		method: text().notNull().default("mail"),
		connection: text(),
		/** Whether the provider says that it checked a second factor. */
		has_factor: boolean().notNull().default(false),
		/** The number of second-factor codes that were tried with the link. */
		attempts: integer().notNull().default(0),
		/** The key that was created with the link; null if it hasn't been used. */
		key_id: text(),
	},
	// No index finds the old rows, because the table has only those of an hour.
	(t) => [index("sign_ins_user").on(t.user_id, t.created_at)],
);

/**
 * What the service remembers between two requests of a sign-in: the state of a redirect to a
 * provider, the challenge of a passkey, the id of a used SAML assertion. Deleted when it is used.
 */
export const signInStates = sqliteTable("sign_in_states", {
	/** SHA-256 of the random state, hex. */
	hash: text().primaryKey(),
	kind: text().notNull(),
	data: map<Record<string, unknown>>(),
	expires_at: text().notNull(),
});

/** How long a sign-in link is valid. */
export const LIFETIME_MS = 15 * MINUTE_MS;

/** How long a sign-in link counts against the limit of mails. */
export const MAIL_WINDOW_MS = HOUR_MS;

/** The number of codes that can be tried with a link. */
export const MAX_ATTEMPTS = 5;

/** SQL condition on `sign_ins`: the user still has the identity that signed in, if there is one. */
const hasIdentity = sql`(${signIns.connection} is null or exists (select 1 from ${identities}
	where ${identities.user_id} = ${signIns.user_id} and ${identities.connection} = ${signIns.connection}))`;

/** SQL condition on `sign_ins`: the link hasn't expired or been used. */
export const isOpen = () => and(isNull(signIns.key_id), gt(signIns.expires_at, now()), hasIdentity);

/** SQL condition on `sign_ins`: the link is open, and a code can be tried with it. */
export const canStillBeUsed = () => and(isOpen(), lt(signIns.attempts, MAX_ATTEMPTS));
