import { sql } from "drizzle-orm";
import {
	foreignKey,
	index,
	integer,
	primaryKey,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { created_at, id } from "./columns.ts";
import type { Resource } from "./levels.ts";
import { organizations } from "./organizations.ts";
import { members } from "./people.ts";

/*
 * Who may do what below the levels (docs/access.md). What follows from these rows for a member is in
 * `members.access`, and for everyone in `organizations.access`, so that the guard reads nothing more
 * (docs/internals/decisions/0020-access.md).
 */

/** The id of the role of auditors, which all organizations have: a row that a migration inserts. */
export const AUDITOR = "00000000-0000-7000-8000-000000000001";

export const roles = sqliteTable(
	"roles",
	{
		id: id(),
		/** null: all organizations have the role. */
		organization_id: integer().references(() => organizations.id, { onDelete: "cascade" }),
		name: text().notNull(),
		description: text().notNull().default(""),
		created_by: integer(),
		created_at: created_at(),
	},
	(t) => [uniqueIndex("roles_name").on(t.organization_id, t.name)],
);

/** References the membership of the organization, so that it is deleted together with it. */
export const roleMembers = sqliteTable(
	"role_members",
	{
		organization_id: integer().notNull(),
		role_id: text()
			.notNull()
			.references(() => roles.id, { onDelete: "cascade" }),
		user_id: integer().notNull(),
		created_at: created_at(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.role_id, t.user_id] }),
		index("role_members_user").on(t.organization_id, t.user_id),
		foreignKey({
			columns: [t.organization_id, t.user_id],
			foreignColumns: [members.organization_id, members.user_id],
		}).onDelete("cascade"),
	],
);

/**
 * Each gives a role, a member or everyone a level of access to a resource, or to one of its objects.
 * Triggers of the tables of objects delete those about an object with it, such as `projects_access`.
 */
export const accessControls = sqliteTable(
	"access_controls",
	{
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		id: text().notNull(),
		resource: text().$type<Resource>().notNull(),
		/** The object's id as text; empty: all objects. */
		resource_id: text().notNull().default(""),
		/** Both are null for everyone. */
		role_id: text().references(() => roles.id, { onDelete: "cascade" }),
		user_id: integer(),
		/** One of `ACCESS_LEVELS`. */
		access_level: integer().notNull(),
		created_by: integer(),
		created_at: created_at(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.id] }),
		// A row is in one of them.
		uniqueIndex("access_controls_role")
			.on(t.organization_id, t.resource, t.resource_id, t.role_id)
			.where(sql`role_id is not null`),
		uniqueIndex("access_controls_member")
			.on(t.organization_id, t.resource, t.resource_id, t.user_id)
			.where(sql`user_id is not null`),
		uniqueIndex("access_controls_everyone")
			.on(t.organization_id, t.resource, t.resource_id)
			.where(sql`role_id is null and user_id is null`),
		foreignKey({
			columns: [t.organization_id, t.user_id],
			foreignColumns: [members.organization_id, members.user_id],
		}).onDelete("cascade"),
	],
);
