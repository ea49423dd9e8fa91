import { sql } from "drizzle-orm";
import {
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
import { organizations } from "./organizations.ts";
import { users } from "./users.ts";

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
