import { eq, sql } from "drizzle-orm";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at } from "./columns.ts";

/**
 * Trigger `users_activity`, when a person is deactivated or reactivated: sets `members.is_active`, and
 * counts `organizations.active_members`.
 * Trigger `users_delete`, before a delete: deletes the user's memberships of projects and organizations.
 */
export const users = sqliteTable("users", {
	id: integer().primaryKey({ autoIncrement: true }),
	uuid: text().notNull().unique().$defaultFn(v7),
	distinct_id: text()
		.notNull()
		.$defaultFn(() => crypto.randomUUID()),
	first_name: text().notNull().default(""),
	last_name: text().notNull().default(""),
	/** Lower case. */
	email: text().notNull().unique(),
	is_email_verified: boolean().notNull().default(false),
	mascot_config: text({ mode: "json" }).$type<Record<string, unknown>>().notNull().default({}),
	is_active: boolean().notNull().default(true),
	/** Whether signing in requires the second factor in `two_factors`. */
	is_2fa_enabled: boolean().notNull().default(false),
	/** Whether the user has an identity, by `identities_insert` and `identities_delete`. */
	has_social_auth: boolean().notNull().default(false),
	/**
	 * Whether this row belongs to a service account, whose id is this row's `uuid`. When the account
	 * is deleted, this row remains, inactive, because entries of the activity log refer to it.
	 */
	is_service_account: boolean().notNull().default(false),
	/**
	 * What the user chose. No foreign keys, which would need an index each: what was deleted, or
	 * can't be seen any more, is passed over (`currentOrganization`, `currentProject`), and its id is
	 * never used again.
	 */
	current_organization_id: integer(),
	current_project_id: integer(),
	/** The number of organizations that the user has created since `organizations_created_since`. */
	organizations_created: integer().notNull().default(0),
	organizations_created_since: text().notNull().default(""),
	created_at: created_at(),
});

/** WHERE clause: a person, not a service account (docs/organizations.md#service-accounts). */
export const isPerson = eq(users.is_service_account, false);

/** WHERE clause: a person who isn't deactivated. */
export const isActivePerson = sql`(${users.is_active} and not ${users.is_service_account})`;
