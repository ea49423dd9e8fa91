import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JWK } from "jose";
import { created_at, map } from "./columns.ts";

/**
 * The keys that the service signs with (docs/audit.md#signing-keys). Rows stay, because what a key
 * has signed can be checked at any time.
 */
export const signingKeys = sqliteTable("signing_keys", {
	/** The thumbprint of the public key (RFC 7638). */
	kid: text().primaryKey(),
	/** The `alg` of its signatures (RFC 7518, RFC 8037). */
	algorithm: text().notNull(),
	public_key: map<JWK>(),
	/** A JWK, encrypted; null once the key no longer signs. */
	private_key: text(),
	signs_from: text().notNull(),
	/** null: until there is another key. */
	signs_until: text(),
	created_at: created_at(),
});
