import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { now } from "../../lib/now.ts";
import { boolean, list } from "./columns.ts";
import { organizations } from "./organizations.ts";

/**
 * Trigger `domains_delete`, after a delete: deletes the identities at the domain's providers, and all
 * rows of its SCIM provider (src/db/schema/scim.ts).
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
