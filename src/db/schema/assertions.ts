import { sql } from "drizzle-orm";
import { check, integer, sqliteTable } from "drizzle-orm/sqlite-core";

/**
 * Always empty. Inserting 0 into a column violates its CHECK, which makes the whole batch fail.
 * Each column has a separate CHECK, so that the error names the assertion that failed.
 */
export const assertions = sqliteTable(
	"assertions",
	{
		/** The caller still has access. */
		has_access: integer().notNull().default(1),
		/**
		 * The values that the change depends on are still as they were read. If not, `retry` reads them
		 * again.
		 */
		is_current: integer().notNull().default(1),
		/** The object still matches `If-Match`. */
		is_unchanged: integer().notNull().default(1),
		/** The organization hasn't reached its limit of objects of a kind. */
		has_room: integer().notNull().default(1),
	},
	(t) => [
		check("has_access", sql`${t.has_access}`),
		check("is_current", sql`${t.is_current}`),
		check("is_unchanged", sql`${t.is_unchanged}`),
		check("has_room", sql`${t.has_room}`),
	],
);
