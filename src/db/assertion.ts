import { type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";
import { assertions } from "./schema/assertions.ts";

const NAMES = ["has_access", "is_current", "is_unchanged", "has_room"] as const;

type Assertion = (typeof NAMES)[number];

/** Returns a statement that makes its batch fail for each row of `rest`. */
function failFor(db: Database, rest: SQL, assertion: Assertion) {
	const values = NAMES.map((name) => (name === assertion ? sql`0` : sql`1`));
	return db.insert(assertions).select(sql`select ${sql.join(values, sql`, `)} ${rest}`);
}

/** Returns a statement that makes its batch fail unless `condition` is true when it runs. */
export const assertThat = (db: Database, condition: SQL, assertion: Assertion) =>
	failFor(db, sql`where not (${condition})`, assertion);

/** Like `assertThat`: `table` has a row for which `where` is true. */
export const assertExists = (db: Database, table: SQLiteTable, where: SQL | undefined) =>
	assertThat(db, sql`exists (select 1 from ${table} where ${where})`, "is_current");

/**
 * The opposite of `assertExists`. Without a subquery, in which SQLite allows only half as many levels
 * of a condition.
 */
export const assertNone = (db: Database, table: SQLiteTable, where: SQL | undefined) =>
	failFor(db, sql`from ${table} where ${where}`, "is_current");

/** Whether a batch failed because of this assertion. */
export const isFailed = (error: unknown, assertion: Assertion) =>
	error instanceof Error && error.message.includes(`CHECK constraint failed: ${assertion}`);
