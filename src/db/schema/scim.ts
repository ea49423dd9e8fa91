import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { boolean, created_at, id, list, updated_at } from "./columns.ts";
import { organizations } from "./organizations.ts";

/*
 * The data that identity providers write with SCIM (docs/sign-on.md#scim). The trigger
 * `domains_delete` deletes the rows of a deleted domain.
 */

/** The tokens of a domain. Two are valid while one is replaced. */
export const scimTokens = sqliteTable(
	"scim_tokens",
	{
		id: id(),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		domain_id: text().notNull(),
		/** SHA-256 of the value, hex. The value itself isn't stored. */
		hash: text().notNull().unique(),
		mask_value: text().notNull(),
		created_by: integer().notNull(),
		created_at: created_at(),
		/** When a replaced token ends; null: never. */
		expires_at: text(),
		last_used_at: text(),
	},
	(t) => [index("scim_tokens_domain").on(t.organization_id, t.domain_id)],
);

/** The level of a membership, and of those in private projects by project id. */
export type ScimAccess = { level: number; projects: Record<string, number> };

/** The names of a user, as a provider sent them. */
export type ScimNames = {
	displayName?: string | undefined;
	name?: { [K in "formatted" | "givenName" | "familyName"]?: string | undefined } | undefined;
};

/** The users that a provider manages. */
export const scimUsers = sqliteTable(
	"scim_users",
	{
		domain_id: text().notNull(),
		user_id: integer().notNull(),
		external_id: text(),
		active: boolean().notNull().default(true),
		/** null: the provider hasn't sent any. Then, the names are those of the account. */
		names: text({ mode: "json" }).$type<ScimNames>(),
		/** The access that people gave the user, not groups; while inactive, what is restored. */
		manual: text({ mode: "json" }).$type<ScimAccess>(),
		/** The access that the groups gave the user when they were last applied. */
		granted: text({ mode: "json" }).$type<ScimAccess>(),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		primaryKey({ columns: [t.domain_id, t.user_id] }),
		index("scim_users_external").on(t.domain_id, t.external_id),
	],
);

/** Groups, each with the access that an admin maps it to. */
export const scimGroups = sqliteTable(
	"scim_groups",
	{
		domain_id: text().notNull(),
		id: text().notNull(),
		external_id: text(),
		display_name: text().notNull(),
		/** null: the group doesn't change the level. */
		level: integer(),
		projects: list<{ id: number; level: number }>(),
		/** The ids of roles. */
		roles: list<string>(),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [primaryKey({ columns: [t.domain_id, t.id] })],
);

export const scimGroupMembers = sqliteTable(
	"scim_group_members",
	{
		domain_id: text().notNull(),
		group_id: text().notNull(),
		user_id: integer().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.domain_id, t.group_id, t.user_id] }),
		index("scim_group_members_user").on(t.domain_id, t.user_id),
	],
);

/** The latest requests to a domain's SCIM endpoint, for those who set it up. */
export const scimRequests = sqliteTable(
	"scim_requests",
	{
		domain_id: text().notNull(),
		/** A version 7 UUID, so in the order of time. */
		id: text().notNull(),
		method: text().notNull(),
		path: text().notNull(),
		status: integer().notNull(),
		request: text(),
		response: text(),
		created_at: created_at(),
		/** The parts of the request that weren't carried out, and why. */
		ignored: list<string>(),
	},
	(t) => [primaryKey({ columns: [t.domain_id, t.id] })],
);
