/** Rows for the lists of the API that have a limit. Each list has its maximum length. */
import type { KeptType } from "../../src/db/schema/deletions.ts";
import type { Delivery } from "../../src/db/schema/webhooks.ts";
import {
	batchExport,
	type Columns,
	EXPORT_ROW,
	FEW,
	id,
	MILLISECONDS,
	OWNERS,
	type OwnerName,
	ROLE,
	TEXT,
} from "./rows.ts";
import { TIME, uuid, uuidSql } from "./seed.ts";

/** The maximum number of rows of these lists. */
export const LIMITS = {
	keys: 25,
	days: 91,
	streams: 5,
	webhooks: 20,
	deliveries: 100,
	accounts: 1_000,
	clients: 1_000,
	trustedIssuers: 1_000,
	roles: 1_000,
	accessControls: 1_000,
	passkeys: 20,
	/** Not a maximum, as for sessions: one for each way to sign in. */
	identities: 5,
	sessions: 50,
	grants: 50,
	scimTokens: 2,
	scimGroups: 1_000,
	scimRequests: 200,
	exports: 1000,
	/** Ten years. */
	exportDays: 3652,
	/** Not a maximum, but many: old runs become one range, until a window fails. */
	ranges: 1_000,
};

/** The number of each table in ids. */
const TABLES = {
	keys: 16,
	streams: 17,
	webhooks: 18,
	deliveries: 19,
	accounts: 20,
	accountKeys: 21,
	passkeys: 22,
	sessions: 23,
	scimTokens: 24,
	scimGroups: 25,
	scimRequests: 26,
	domain: 27,
	grants: 28,
	clients: 29,
	trustedIssuers: 30,
	roles: 31,
	accessControls: 32,
};

/** Returns the id of the first row of a table. */
const first = (table: keyof typeof TABLES) => uuid("other", TABLES[table] * 10_000_000);

export const KEY = first("keys");
export const WEBHOOK = first("webhooks");
export const ACCOUNT = first("accounts");
export const ACCOUNT_KEY = first("accountKeys");
export const DOMAIN = first("domain");
export const ACCESS_CONTROL = first("accessControls");

/** The first user id of service accounts. */
const FIRST_ACCOUNT = 1_000_000;

/** Returns the columns of keys of a user. Requests of the benchmark don't use these keys. */
const keys = (table: "keys" | "accountKeys" | "sessions" | "grants", user: number): Columns => ({
	id: id(TABLES[table]),
	user_id: user,
	label: TEXT,
	hash: `printf('%064x', ${TABLES[table] * 10_000_000} + i)`,
	mask_value: "'tnt_…test'",
	created_at: TIME,
});

/**
 * Returns the columns of days on which a key was used. It isn't the key of the benchmark, which is
 * used on other days.
 */
const days = (key: string): Columns => ({
	key_id: `'${key}'`,
	day: "date('2026-01-01', -i || ' days')",
	requests: 100,
	refusals: 1,
	last_address: "'203.0.113.7'",
});

const STREAM = {
	type: "S3",
	config: { bucket_name: "audit", region: "eu-central-1", prefix: "acme/" },
};

/** The deliveries of the first webhook, newest first. */
const DELIVERIES = Array.from({ length: LIMITS.deliveries }, (_, i): Delivery => {
	const isSpecial = i < 5;
	const itsId = uuid("other", TABLES.deliveries * 10_000_000 + LIMITS.deliveries - i);
	return {
		id: itsId,
		event_id: itsId,
		position: LIMITS.deliveries - i,
		type: isSpecial ? "domain.deleted" : "member.updated",
		reason: "event",
		attempt: 1,
		status: isSpecial ? "failed" : "delivered",
		response_status: isSpecial ? 500 : 200,
		duration_ms: 120,
		error: isSpecial ? "The response has the status 500." : null,
		created_at: "2026-01-01T00:00:00.000Z",
	};
});

const SESSION = { method: "mail", connection: null, address: "203.0.113.7", user_agent: "Firefox" };

/** The rows of the owner's sign-ins, and to a domain whose provider sends users by SCIM. */
const SIGN_ON: [table: string, columns: Columns, rows: number][] = [
	[
		"passkeys",
		{
			credential_id: "'credential ' || i",
			id: id(TABLES.passkeys),
			user_id: OWNERS.signOn,
			name: TEXT,
			public_key: "'key'",
			sign_count: 0,
			is_backed_up: 0,
			created_at: TIME,
		},
		LIMITS.passkeys,
	],
	[
		"identities",
		{
			connection: `'saml:${DOMAIN}'`,
			subject: TEXT,
			user_id: OWNERS.signOn,
			email: "'owner@example.org'",
			created_at: TIME,
		},
		LIMITS.identities,
	],
	[
		"personal_api_keys",
		{
			...keys("sessions", OWNERS.signOn),
			session: `'${JSON.stringify(SESSION)}'`,
			expires_at: "'2999-01-01T00:00:00.000Z'",
		},
		LIMITS.sessions,
	],
	[
		"personal_api_keys",
		{
			...keys("grants", OWNERS.signOn),
			client_id: "'https://notes.example.org/app'",
			audience: "'api'",
		},
		LIMITS.grants,
	],
	[
		"oauth_refresh_tokens",
		{
			key_id: id(TABLES.grants),
			family: "''",
			hash: "''",
			expires_at: "'2999-01-01T00:00:00.000Z'",
		},
		LIMITS.grants,
	],
	[
		"domains",
		{
			id: `'${DOMAIN}'`,
			organization_id: OWNERS.signOn,
			domain: "'scim.example.org'",
			claimed_at: TIME,
			verified_at: TIME,
			verification_challenge: "'challenge'",
		},
		1,
	],
	[
		"scim_tokens",
		{
			id: id(TABLES.scimTokens),
			organization_id: OWNERS.signOn,
			domain_id: `'${DOMAIN}'`,
			hash: "printf('%064x', i)",
			mask_value: "'tnt_scim_…test'",
			created_by: OWNERS.signOn,
			created_at: TIME,
		},
		LIMITS.scimTokens,
	],
	[
		"scim_groups",
		{
			domain_id: `'${DOMAIN}'`,
			id: id(TABLES.scimGroups),
			display_name: TEXT,
			created_at: TIME,
			updated_at: TIME,
		},
		LIMITS.scimGroups,
	],
	[
		"scim_requests",
		{
			domain_id: `'${DOMAIN}'`,
			id: id(TABLES.scimRequests),
			method: "'GET'",
			path: "'/Users'",
			status: 200,
			created_at: TIME,
		},
		LIMITS.scimRequests,
	],
];

type Rows = [table: string, columns: Columns, rows: number];

/** The types of deleted objects that are listed, with their owners. */
const DELETED: [type: KeptType, owner: OwnerName][] = [
	["project", "projects"],
	["batch_export", "exports"],
	["webhook", "webhooks"],
	["plugin", "plugins"],
	["plugin_config", "configs"],
];

/** A few deleted objects, which can be restored for as long as the benchmark exists. */
const deleted = ([type, owner]: (typeof DELETED)[number]): Rows => [
	"deletions",
	{
		organization_id: OWNERS[owner],
		project_id: OWNERS[owner],
		type: `'${type}'`,
		item_id: "i",
		name: TEXT,
		deleted_at: "unixepoch('2100-01-01') * 1000",
		columns: "'{}'",
		shown: `'{"name":"Row"}'`,
	},
	FEW,
];

/** The tables, with their columns and numbers of rows. */
export const BOUNDED: Rows[] = [
	...SIGN_ON,
	[
		"roles",
		{
			id: id(TABLES.roles),
			organization_id: OWNERS.members,
			name: "'Row ' || i",
			created_at: TIME,
		},
		LIMITS.roles,
	],
	[
		"access_controls",
		{
			organization_id: OWNERS.members,
			id: id(TABLES.accessControls),
			resource: "'batch_export'",
			resource_id: id(TABLES.accessControls),
			role_id: `iif(i < 5, '${ROLE}', null)`,
			user_id: `iif(i between 5 and 9, ${OWNERS.members}, null)`,
			access_level: 1,
			created_at: TIME,
		},
		LIMITS.accessControls,
	],
	// The owner has another key, which the benchmark uses.
	["personal_api_keys", keys("keys", OWNERS.keys), LIMITS.keys - 1],
	["personal_api_key_days", days(KEY), LIMITS.days],
	[
		"batch_exports",
		{ ...batchExport("exports"), uuid: id(7), one_off: `i < ${FEW}` },
		LIMITS.exports,
	],
	...DELETED.map(deleted),
	[
		"batch_export_days",
		{ batch_export_id: EXPORT_ROW, day: "date('2026-01-01', i || ' days')" },
		LIMITS.exportDays,
	],
	[
		"batch_export_ranges",
		{
			batch_export_id: EXPORT_ROW,
			by: "'arrival'",
			start_at: MILLISECONDS,
			end_at: `${MILLISECONDS} + 1`,
			latest_error: "iif(i % 2, 'The bucket is missing.', null)",
			runs: 1,
			rows: 100,
			bytes: 1000,
		},
		LIMITS.ranges,
	],
	[
		"audit_streams",
		{
			id: id(TABLES.streams),
			organization_id: OWNERS.streams,
			organization_uuid: `'${uuid("organization", OWNERS.streams)}'`,
			name: TEXT,
			destination: `'${JSON.stringify(STREAM)}'`,
			enabled: 0,
			digest: "printf('%064x', i)",
			created_at: TIME,
		},
		LIMITS.streams,
	],
	[
		"webhooks",
		{
			id: id(TABLES.webhooks),
			organization_id: OWNERS.webhooks,
			url: "'https://hooks.example.org/' || i",
			description: TEXT,
			enabled: 0,
			secret: "'encrypted'",
			position: 0,
			created_at: TIME,
			deliveries: `iif(i = 0, '${JSON.stringify(DELIVERIES)}', '[]')`,
		},
		LIMITS.webhooks,
	],
	[
		"oauth_clients",
		{
			id: id(TABLES.clients),
			organization_id: OWNERS.accounts,
			name: TEXT,
			redirect_uris: `'${JSON.stringify(["https://app.example.org/callback"])}'`,
			created_at: TIME,
		},
		LIMITS.clients,
	],
	[
		"users",
		{
			id: `${FIRST_ACCOUNT} + i`,
			uuid: id(TABLES.accounts),
			distinct_id: id(TABLES.accounts),
			first_name: TEXT,
			email: "'account-' || i || '@service-account.invalid'",
			is_service_account: 1,
			created_at: TIME,
		},
		LIMITS.accounts,
	],
	[
		"service_accounts",
		{
			id: id(TABLES.accounts),
			organization_id: OWNERS.accounts,
			user_id: `${FIRST_ACCOUNT} + i`,
			name: TEXT,
			created_by: OWNERS.accounts,
			created_at: TIME,
		},
		LIMITS.accounts,
	],
	[
		"members",
		{
			id: uuidSql("member", "30000000 + i"),
			organization_id: OWNERS.accounts,
			user_id: `${FIRST_ACCOUNT} + i`,
			level: 1,
			joined_at: TIME,
			updated_at: TIME,
		},
		LIMITS.accounts,
	],
	[
		"personal_api_keys",
		{
			...keys("accountKeys", FIRST_ACCOUNT),
			expires_at: "iif(i < 5, '2100-01-01T00:00:00.000Z', null)",
		},
		LIMITS.keys,
	],
	[
		"trusted_issuers",
		{
			id: id(TABLES.trustedIssuers),
			organization_id: OWNERS.accounts,
			service_account_id: `'${ACCOUNT}'`,
			name: TEXT,
			issuer: "'https://issuer.example.com'",
			audience: "'https://tenantry.example.com'",
			subject: "'repo:owner/repository:ref:refs/heads/main'",
			scopes: `'["project:read"]'`,
			created_at: TIME,
		},
		LIMITS.trustedIssuers,
	],
	["personal_api_key_days", days(ACCOUNT_KEY), LIMITS.days],
];
