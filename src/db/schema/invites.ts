import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { MEMBER } from "../levels.ts";
import { boolean, created_at, id, list, updated_at } from "./columns.ts";
import { organizations } from "./organizations.ts";
import { users } from "./users.ts";

/** One entry of Invite.private_project_access, as the client sent it. */
export type ProjectAccess = { id: number; level: number | string };

export const invites = sqliteTable(
	"invites",
	{
		id: id(),
		organization_id: text()
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
		uniqueIndex("invites_organization_email").on(t.organization_id, t.target_email),
		index("invites_organization").on(t.organization_id, t.id),
		index("invites_open").on(t.organization_id, t.created_at),
	],
);

/**
 * The invite mails of the last hour, to limit their number. Rows remain when the invite is deleted
 * or replaced.
 */
export const inviteMails = sqliteTable(
	"invite_mails",
	{
		invite_id: text().primaryKey(),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		sent_at: text().notNull(),
	},
	(t) => [index("invite_mails_organization").on(t.organization_id, t.sent_at)],
);
