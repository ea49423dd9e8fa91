import { foreignKey, index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { boolean, created_at, id, list, map } from "./columns.ts";
import { organizations } from "./organizations.ts";
import { serviceAccounts } from "./people.ts";
import { personalApiKeys } from "./personal_api_keys.ts";

/**
 * The access that a person has allowed an app, until the app exchanges its code (docs/oauth.md).
 */
export type Approval = {
	client_id: string;
	client_name: string;
	/** null for a device. */
	redirect_uri: string | null;
	/** The SHA-256 of the PKCE verifier, in base64url (RFC 7636, section 4.2); null for a device. */
	code_challenge: string | null;
	audience: string;
	scopes: string[];
	scoped_organizations: string[];
	scoped_projects: number[];
	/** The digest of the key with which the person allowed it. Without this key, the code is void. */
	approved_with: string;
	/** When the grant ends; null: when it is revoked, or hasn't been used for a month. */
	ends_at: string | null;
};

/** Codes for what a person has allowed. Rows are deleted an hour after they expire. */
export const oauthCodes = sqliteTable("oauth_codes", {
	/** SHA-256, hex, of the authorization code or the device code. The code itself isn't stored. */
	hash: text().primaryKey(),
	user_id: integer().notNull(),
	approval: map<Approval>(),
	expires_at: text().notNull(),
	/** The key that was created with the code; null if it hasn't been used. */
	key_id: text(),
});

/** When a token was issued (ISO 8601), and the salt from which it was derived. */
export type Issue = { at: string; salt: string };

/**
 * How the tokens of the last refresh were derived (`nextExchange`). They can be derived again only
 * with the refresh token that was used, so no token is stored.
 */
export type Exchange = {
	access: Issue;
	refresh: Issue;
	/** Whether the refresh token was used several times, as by requests at the same moment. */
	is_repeated: boolean;
};

/** The refresh tokens of grants, one each (docs/internals/decisions/0017-grants-are-keys.md). */
export const oauthRefreshTokens = sqliteTable("oauth_refresh_tokens", {
	key_id: text()
		.primaryKey()
		.references(() => personalApiKeys.id, { onDelete: "cascade" }),
	/** SHA-256, hex, of the part that all tokens of the grant have in common. */
	family: text().notNull(),
	/** SHA-256, hex, of the whole token that works now. */
	hash: text().notNull(),
	expires_at: text().notNull(),
	/** As in `Approval`. */
	ends_at: text(),
	/**
	 * The scopes that the person has allowed. null before the first refresh: the scopes of the key.
	 */
	scopes: text({ mode: "json" }).$type<string[]>(),
	/** null before the first refresh. */
	last_exchange: text({ mode: "json" }).$type<Exchange>(),
});

/** The request of a device (docs/oauth.md#devices). */
export type DeviceRequest = { client_id: string; scope?: string | undefined; audience: string };

/**
 * Requests of devices that wait for the decision of a person. Allowing one moves it to
 * `oauth_codes`. Rows are deleted an hour after they expire.
 */
export const oauthDeviceRequests = sqliteTable("oauth_device_requests", {
	/** SHA-256, hex, of the code that the person enters. */
	user_code_hash: text().primaryKey(),
	/** SHA-256, hex, of the code that the device exchanges for tokens. */
	device_code_hash: text().notNull(),
	request: map<DeviceRequest>(),
	is_denied: boolean().notNull().default(false),
	expires_at: text().notNull(),
});

/**
 * Apps that don't publish a document about themselves. The id is their `client_id`.
 *
 * Trigger `oauth_clients_delete`, after a delete: deletes the app's grants and codes.
 */
export const oauthClients = sqliteTable(
	"oauth_clients",
	{
		id: id(),
		/** The organization that registered the app. Deleting it ends the app's grants. */
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		name: text().notNull(),
		redirect_uris: list<string>(),
		created_at: created_at(),
	},
	(t) => [index("oauth_clients_organization").on(t.organization_id, t.id)],
);

/**
 * Whose tokens are exchanged for keys of a service account (docs/oauth.md#jobs-without-keys). These
 * keys have the id of the row as `client_id`.
 */
export const trustedIssuers = sqliteTable(
	"trusted_issuers",
	{
		id: id(),
		organization_id: integer().notNull(),
		service_account_id: text().notNull(),
		name: text().notNull(),
		issuer: text().notNull(),
		audience: text().notNull(),
		subject: text().notNull(),
		claims: map<Record<string, string>>().default({}),
		scopes: list<string>(),
		scoped_projects: list<number>(),
		created_at: created_at(),
		/** When a token was last exchanged, to within an hour. */
		last_used_at: text(),
	},
	(t) => [
		index("trusted_issuers_account").on(t.organization_id, t.service_account_id, t.id),
		foreignKey({
			columns: [t.organization_id, t.service_account_id],
			foreignColumns: [serviceAccounts.organization_id, serviceAccounts.id],
		}).onDelete("cascade"),
	],
);
