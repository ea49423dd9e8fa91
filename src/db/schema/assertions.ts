import { sql } from "drizzle-orm";
import { check, integer, sqliteTable } from "drizzle-orm/sqlite-core";

/**
 * Always empty. Inserting 0 into a column violates its CHECK, which makes the whole batch fail. Each
 * column has a CHECK of its own, so that the error tells which assertion failed.
 */
export const assertions = sqliteTable(
	"assertions",
	{
		/** The caller still has its access. */
		holds: integer().notNull().default(1),
		/** The object is still as `If-Match` says. */
		is_unchanged: integer().notNull().default(1),
		/** No other request has used the `Idempotency-Key`. */
		is_unused: integer().notNull().default(1),
	},
	(t) => [
		check("still_admitted", sql`${t.holds}`),
		check("still_unchanged", sql`${t.is_unchanged}`),
		check("still_unused", sql`${t.is_unused}`),
	],
);
