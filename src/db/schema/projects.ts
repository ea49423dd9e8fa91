import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at } from "./columns.ts";
import { organizations } from "./organizations.ts";

/** Trigger `projects_delete`, after a delete: marks the project's batch exports as deleted. */
export const projects = sqliteTable(
	"projects",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		uuid: text().notNull().$defaultFn(v7),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		name: text().notNull(),
		timezone: text().notNull().default("UTC"),
		/** Whether the project is private: visible only to admins and to its members. */
		access_control: boolean().notNull().default(false),
		created_at: created_at(),
	},
	(t) => [index("projects_organization").on(t.organization_id)],
);
