import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { organizations } from "./organizations.ts";

/** Settings of an organization that aren't the defaults (docs/notifications.md). */
export const notifications = sqliteTable(
	"notifications",
	{
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		/** The type, as in the activity log. */
		scope: text().notNull(),
		activity: text().notNull(),
		/** `admins`, `owner` or a list of UUIDs; null: the default. `activity_log_alert` reads it too. */
		recipients: text({ mode: "json" }).$type<Recipients>(),
		/** The earliest time of the next mail of this type. */
		next_mail_at: text().notNull().default(""),
	},
	(t) => [primaryKey({ columns: [t.organization_id, t.scope, t.activity] })],
);

/** Who gets the mails of a type: the admins, the owner of the event's object, or these users. */
export type Recipients = "admins" | "owner" | string[];

/** Objects with events to mail, which the trigger `activity_log_alert` inserts. */
export const alerts = sqliteTable(
	"alerts",
	{
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		scope: text().notNull(),
		activity: text().notNull(),
		/** The export, plugin config, key or domain; empty for joins. */
		subject: text().notNull(),
		/** The position of its first event that hasn't been mailed; null if all have been. */
		position: integer(),
		/** The earliest time of the next mail about it. */
		due_at: text().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.scope, t.activity, t.subject] }),
		index("alerts_due").on(t.due_at),
	],
);
