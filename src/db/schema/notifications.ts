import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { organizations } from "./organizations.ts";

/**
 * What an organization has mailed of one type of events, where that isn't the default
 * (docs/notifications.md).
 */
export const notifications = sqliteTable(
	"notifications",
	{
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		/** The type, as the activity log has it. */
		scope: text().notNull(),
		activity: text().notNull(),
		/** A word or a list of uuids; null: the default. A trigger reads it, too. */
		recipients: text({ mode: "json" }).$type<Recipients>(),
		/** The earliest time of the next mail of this type. */
		next_mail_at: text().notNull().default(""),
	},
	(t) => [primaryKey({ columns: [t.organization_id, t.scope, t.activity] })],
);

/** Who gets the mails of a type: admins, the owner of what it is about, or these users. */
export type Recipients = "admins" | "owner" | string[];

/**
 * Which items have events that weren't mailed yet. A trigger on `activity_log` writes here in the
 * transaction of the event.
 */
export const alerts = sqliteTable(
	"alerts",
	{
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		scope: text().notNull(),
		activity: text().notNull(),
		/** The export, plugin config, key or domain. */
		subject: text().notNull(),
		/** The first of its events that wasn't mailed; null: all were. */
		position: integer(),
		/** The earliest time of the next mail because of it. */
		due_at: text().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.scope, t.activity, t.subject] }),
		index("alerts_due").on(t.due_at),
	],
);
