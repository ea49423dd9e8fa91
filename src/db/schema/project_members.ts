import { foreignKey, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { created_at, updated_at } from "./columns.ts";
import { members } from "./members.ts";
import { projects } from "./projects.ts";

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
