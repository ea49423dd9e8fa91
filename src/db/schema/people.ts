import { eq, sql } from "drizzle-orm";
import {
	foreignKey,
	index,
	integer,
	primaryKey,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at, list, updated_at } from "./columns.ts";
import { MEMBER } from "./levels.ts";
import { organizations, projects } from "./organizations.ts";

/**
 * Trigger `users_activity`, when a person is deactivated or reactivated: sets `members.is_active`, and
 * counts `organizations.active_members`.
 * Trigger `users_delete`, before a delete: deletes the user's memberships of projects and organizations.
 * Trigger `users_arrive`, when somebody signs in whose address is in `moved_users`: gives them what belongs
 * to the user who stands in for them.
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
	/**
	 * When an admin reset the second factor, until the user signs in by mail, which proves the address
	 * anew (docs/keys.md#a-lost-second-factor); null otherwise.
	 */
	factor_reset_at: text(),
	/** Whether the user has an identity, by `identities_insert` and `identities_delete`. */
	has_social_auth: boolean().notNull().default(false),
	/**
	 * Whether this row belongs to a service account, whose id is this row's `uuid`. When the account
	 * is deleted, this row remains, inactive, because entries of the activity log refer to it.
	 */
	is_service_account: boolean().notNull().default(false),
	/**
	 * The user's choices. No foreign keys, which would need an index each: what was deleted, or
	 * can't be seen any more, is passed over (`currentOrganization`, `currentProject`), and its id is
	 * never used again.
	 */
	current_organization_id: integer(),
	current_project_id: integer(),
	/** When the user last signed in; null: never, or before it was noted. */
	last_sign_in_at: text(),
	/** The number of organizations that the user has created since `organizations_created_since`. */
	organizations_created: integer().notNull().default(0),
	organizations_created_since: text().notNull().default(""),
	created_at: created_at(),
});

/**
 * People of imported organizations who haven't signed in here since (docs/operating/README.md). Their
 * memberships, and what else refers to them, belong to a user with whom nobody can sign in.
 */
export const movedUsers = sqliteTable(
	"moved_users",
	{
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		/** The UUID in the deployment that the organization comes from. */
		uuid: text().notNull(),
		/** The user who stands in for the person. */
		user_id: integer()
			.notNull()
			.unique()
			.references(() => users.id, { onDelete: "cascade" }),
		/** The person's address. Lower case. */
		email: text().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.uuid] }),
		index("moved_users_email").on(t.email),
	],
);

/** WHERE clause: a person, not a service account (docs/organizations.md#service-accounts). */
export const isPerson = eq(users.is_service_account, false);

/** WHERE clause: a person who isn't deactivated. */
export const isActivePerson = sql`(${users.is_active} and not ${users.is_service_account})`;

/**
 * Trigger `members_insert`, after an insert: counts `organizations.active_members`, and makes members
 * inactive who are service accounts or deactivated.
 * Trigger `members_delete`, after a delete: uncounts the member, and removes it from the `break_glass`
 * of the organization's domains.
 */
export const members = sqliteTable(
	"members",
	{
		id: text().notNull().$defaultFn(v7),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		level: integer().notNull(),
		joined_at: created_at(),
		updated_at: updated_at(),
		/**
		 * `users.is_active`, but false for service accounts, for an index of members. By the triggers
		 * `members_insert` and `users_activity`.
		 */
		is_active: boolean().notNull().default(true),
		/** The member's own access (src/access/access_levels.ts), as JSON; null without any. */
		access: text(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.user_id] }),
		index("members_organization").on(t.organization_id, t.is_active, t.joined_at, t.id),
		// Few members are admins, so that most writes don't change it.
		index("members_admins").on(t.organization_id, t.level).where(sql`level >= 8`),
		index("members_user").on(t.user_id, t.organization_id),
	],
);

/** WHERE clause: at least an admin, as a literal, so that SQLite uses the index of admins. */
export const isAdminLevel = sql`${members.level} >= 8`;

/** References the membership of the organization, so that it is deleted together with it. */
export const projectMembers = sqliteTable(
	"project_members",
	{
		id: text().notNull().$defaultFn(v7),
		project_id: integer()
			.notNull()
			.references(() => projects.id, { onDelete: "cascade" }),
		organization_id: integer().notNull(),
		user_id: integer().notNull(),
		level: integer().notNull(),
		joined_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		primaryKey({ columns: [t.project_id, t.user_id] }),
		index("project_members_organization_user").on(t.organization_id, t.user_id),
		foreignKey({
			columns: [t.organization_id, t.user_id],
			foreignColumns: [members.organization_id, members.user_id],
		}).onDelete("cascade"),
	],
);

/** One entry of Invite.private_project_access, as the client sent it. */
export type ProjectAccess = { id: number; level: number | string };

/**
 * Trigger `invites_counted`, after an insert: adds one to `organizations.invites`.
 * Trigger `invites_uncounted`, after a delete: subtracts one from it.
 */
export const invites = sqliteTable(
	"invites",
	{
		id: text().notNull().$defaultFn(v7),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		/** Lower case. */
		target_email: text().notNull(),
		first_name: text().notNull().default(""),
		level: integer().notNull().default(MEMBER),
		message: text(),
		private_project_access: list<ProjectAccess>(),
		created_by: integer()
			.notNull()
			.references(() => users.id),
		emailing_attempt_made: boolean().notNull(),
		/** SHA-256 of the token in the link, hex. The token itself isn't stored. */
		token_hash: text().notNull().unique(),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.id] }),
		uniqueIndex("invites_organization_email").on(t.organization_id, t.target_email),
	],
);

/**
 * The invite mails of the last day, to limit their number. Rows remain when the invite or the
 * organization is deleted, so they have no foreign keys. No index finds the old rows: a scan an
 * hour costs less than a row written with each mail.
 */
export const inviteMails = sqliteTable(
	"invite_mails",
	{
		sent_at: text().notNull(),
		invite_id: text().notNull(),
		organization_id: integer().notNull(),
		/** Who sent it; for a service account, who created the account. 0: unknown. */
		user_id: integer().notNull().default(0),
		/** The address, if its user was in no organization of the sender; otherwise null. */
		stranger: text(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.sent_at, t.invite_id] }),
		index("invite_mails_user").on(t.user_id, t.sent_at),
		index("invite_mails_stranger").on(t.stranger, t.sent_at).where(sql`stranger is not null`),
	],
);

/**
 * Service accounts. An account's access is stored like a user's: its row in `users` has the keys,
 * its row in `members` the level, and its rows in `project_members` its private projects.
 *
 * Trigger `service_accounts_delete`, after a delete: deletes the account's keys and memberships, and
 * deactivates its user.
 */
export const serviceAccounts = sqliteTable(
	"service_accounts",
	{
		id: text().notNull(),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		user_id: integer()
			.notNull()
			.unique()
			.references(() => users.id),
		name: text().notNull(),
		created_by: integer()
			.notNull()
			.references(() => users.id),
		created_at: created_at(),
	},
	(t) => [primaryKey({ columns: [t.organization_id, t.id] })],
);
