import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, counter, created_at, list, updated_at } from "./columns.ts";

/** One entry of Organization.available_product_features. */
type Feature = {
	key: string;
	name: string;
	description?: string;
	limit?: number;
};

/**
 * Trigger `audit_streams_organization_delete`, after a delete: deletes the organization's paused
 * audit streams, and makes the others due, to deliver their last events.
 */
export const organizations = sqliteTable("organizations", {
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
	active_members: counter(),
	invites: counter(),
	created_at: created_at(),
	updated_at: updated_at(),
});
