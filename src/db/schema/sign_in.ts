import { and, gt, isNull, lt, sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { HOUR_MS, MINUTE_MS, now } from "../../lib/time.ts";
import { boolean, created_at, id, list, map } from "./columns.ts";
import { users } from "./people.ts";

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
 * The state between two requests of a sign-in: the state of a redirect to a
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

/** Passkeys (WebAuthn credentials) of users (docs/keys.md#signing-in). */
export const passkeys = sqliteTable(
	"passkeys",
	{
		/** The authenticator's id of the credential, base64url. */
		credential_id: text().primaryKey(),
		/** The id in the API. */
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
