import { type Column, type SQL, sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { now } from "../../lib/time.ts";
import { boolean, counter, created_at, list, updated_at } from "./columns.ts";

/** One entry of Organization.available_product_features. */
type Feature = {
	key: string;
	name: string;
	description?: string;
	limit?: number;
};

/** Since when an organization is being exported, or the file that it is imported from. */
export type Moving =
	| { since: string }
	| {
			/** The digest of the file's manifest. */
			file: string;
			/** What is added to the positions of the file's log. */
			base: number;
	  };

/**
 * Trigger `audit_streams_organization_delete`, after a delete: makes the organization's
 * audit streams due, to deliver their last events, unless they are paused.
 */
export const organizations = sqliteTable(
	"organizations",
	{
		/** Never used again: the activity log and audit streams refer to it after its deletion. */
		id: integer().primaryKey({ autoIncrement: true }),
		uuid: text().notNull().unique().$defaultFn(v7),
		name: text().notNull(),
		slug: text().notNull().unique(),
		logo_media_id: text(),
		plugins_access_level: integer().notNull(),
		available_product_features: list<Feature>(),
		is_member_join_email_enabled: boolean().notNull().default(true),
		metadata: text().notNull().default("{}"),
		customer_id: text(),
		enforce_2fa: boolean(),
		/** Whether keys that can access the organization need an `expires_at`. */
		keys_must_expire: boolean().notNull().default(false),
		/** The client ids of the apps that can access the organization (docs/oauth.md); null: all. */
		allowed_apps: text({ mode: "json" }).$type<string[]>(),
		/** After how many minutes without use, and after how many in all, a member's session ends. */
		session_idle_minutes: integer().notNull().default(720),
		session_max_minutes: integer().notNull().default(10_080),
		/** Whether the activity log keeps the IP addresses of requests. */
		logs_addresses: boolean().notNull().default(true),
		active_members: counter(),
		invites: counter(),
		/**
		 * The access of everyone (src/access/access_levels.ts), as JSON; null as long as the organization has no
		 * access controls and nobody with a role.
		 */
		access: text(),
		created_at: created_at(),
		updated_at: updated_at(),
		/**
		 * While the organization moves to another deployment or arrives from one, as JSON of `Moving`: then
		 * it can only be read, and nothing is run for it. null otherwise.
		 */
		moving: text({ mode: "json" }).$type<Moving>(),
	},
	// For `notMoving`: it is empty most of the time.
	(t) => [index("organizations_moving").on(t.id).where(sql`moving is not null`)],
);

/*
 * Rows refer to an organization by its integer. The API, events and restrictions of keys show its
 * UUID.
 */

/** SQL for the id of the organization with this UUID; null if there is none. */
export const organizationId = (uuid: string | SQL): SQL<number> =>
	sql`(select o.id from organizations as o where o.uuid = ${uuid})`;

/** SQL condition: the organization isn't moving, so that work can be done for it. */
export const notMoving = (id: Column | SQL): SQL =>
	sql`${id} not in (select o.id from organizations as o where o.moving is not null)`;

/** The column of a query that says whether an organization is moving. */
export const isMoving = sql`(${organizations.moving} is not null)`.mapWith(Boolean).as("is_moving");

/** SQL for the UUID of the organization with this id; null if it was deleted. */
export const organizationUuid = (id: Column | SQL<number>): SQL<string | null> =>
	sql`(select o.uuid from organizations as o where o.id = ${id})`;

/**
 * Trigger `projects_delete`, after a delete: marks the project's batch exports as deleted.
 * Trigger `projects_access`, after a delete: deletes the access controls about the project.
 */
export const projects = sqliteTable(
	"projects",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		uuid: text().notNull().$defaultFn(v7),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		name: text().notNull(),
		timezone: text().notNull().default("UTC"),
		/** Whether the project is private: visible only to admins and to its members. */
		access_control: boolean().notNull().default(false),
		created_at: created_at(),
	},
	(t) => [index("projects_organization").on(t.organization_id)],
);

/**
 * Trigger `domains_delete`, after a delete: deletes the identities at the domain's providers, and all
 * rows of its SCIM provider (src/db/schema/scim.ts).
 * Trigger `domains_access`, after a delete: deletes the access controls about the domain.
 */
export const domains = sqliteTable(
	"domains",
	{
		id: text().notNull().$defaultFn(v7),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		domain: text().notNull().unique(),
		/** When the organization added the domain, or renamed another domain to it. */
		claimed_at: text().$defaultFn(now),
		/** null: not verified. */
		verified_at: text(),
		verification_challenge: text().notNull(),
		jit_provisioning_enabled: boolean().notNull().default(false),
		sso_enforcement: text().notNull().default(""),
		saml_entity_id: text(),
		saml_acs_url: text(),
		saml_x509_cert: text(),
		/** Whether the SAML provider may start a sign-in. */
		saml_idp_initiated: boolean().notNull().default(false),
		oidc_issuer: text(),
		oidc_client_id: text(),
		/** Encrypted. */
		oidc_client_secret: text(),
		/** The level of members that just-in-time provisioning adds. */
		jit_provisioning_level: integer().notNull().default(1),
		/** The ids of the users who can sign in by mail although single sign-on is enforced. */
		break_glass: list<number>(),
		/** When the DNS record of a verified domain is checked again; empty: immediately. */
		recheck_at: text().notNull().default(""),
		/** The number of consecutive checks that didn't find it, and the time of the first of them. */
		failed_rechecks: integer().notNull().default(0),
		missing_since: text(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.id] }),
		// For what only names the domain: its sign-in pages, and connections.
		index("domains_id").on(t.id),
		index("domains_recheck").on(t.recheck_at).where(sql`verified_at is not null`),
	],
);
