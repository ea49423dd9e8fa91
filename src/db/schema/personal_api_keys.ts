import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { CURRENT_VERSION, FIRST_VERSION } from "../../http/versions.ts";
import { created_at, id, list } from "./columns.ts";
import { users } from "./people.ts";

/** How a session was started (docs/keys.md#signing-in). */
export type Session = {
	/** `mail`, `passkey`, or a provider as in a domain's `sso_enforcement`. */
	method: string;
	/** The connection of the identity that signed in (`identities.connection`); null for others. */
	connection: string | null;
	/** The IP address and browser. */
	address: string | null;
	user_agent: string | null;
};

export const personalApiKeys = sqliteTable(
	"personal_api_keys",
	{
		id: id(),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		label: text().notNull(),
		/** SHA-256 of the value, hex. The value itself isn't stored. */
		hash: text().notNull().unique(),
		mask_value: text().notNull(),
		/** The hash of the value before the last roll, which works until then; null: there is none. */
		previous_hash: text(),
		previous_value_expires_at: text(),
		scopes: list<string>(),
		scoped_organizations: list<string>(),
		scoped_projects: list<number>(),
		/** IP addresses and ranges for the key, normalized by `src/keys/ranges.ts`. Empty: all. */
		allowed_ips: list<string>(),
		expires_at: text(),
		created_at: created_at(),
		last_used_at: text(),
		last_rolled_at: text(),
		/** The API version of requests that don't choose one (docs/api.md#versions). */
		version: text()
			.notNull()
			.default(FIRST_VERSION)
			.$defaultFn(() => CURRENT_VERSION),
		/** The `expires_at` for which the event `key.expiring` was last written. */
		expiry_notified_for: text(),
		/** How the session was started; null for keys that aren't a session's. */
		session: text({ mode: "json" }).$type<Session>(),
		/** The app that the key was granted to (docs/oauth.md); null for keys that aren't an app's. */
		client_id: text(),
		/** The resource that an app's key is for (src/keys/audience.ts); null for other keys. */
		audience: text(),
	},
	(t) => [
		index("personal_api_keys_user").on(t.user_id, t.id),
		index("personal_api_keys_previous").on(t.previous_hash).where(sql`previous_hash is not null`),
		// For ending the grants of an app that is deleted.
		index("personal_api_keys_client").on(t.client_id).where(sql`client_id is not null`),
		// For finding the keys for which the event is due.
		index("personal_api_keys_expiring")
			.on(t.expires_at)
			.where(
				sql`session is null and client_id is null and expires_at is not null and expiry_notified_for is not expires_at`,
			),
	],
);

/** How often a key was used on a day. Days without use have no row. */
export const personalApiKeyDays = sqliteTable(
	"personal_api_key_days",
	{
		key_id: text()
			.notNull()
			.references(() => personalApiKeys.id, { onDelete: "cascade" }),
		/** YYYY-MM-DD, in UTC. */
		day: text().notNull(),
		/** Includes rejected requests. */
		requests: integer().notNull(),
		/** Responses with the status 401, 403 or 429. */
		refusals: integer().notNull(),
		last_address: text(),
	},
	(t) => [primaryKey({ columns: [t.key_id, t.day] })],
);
