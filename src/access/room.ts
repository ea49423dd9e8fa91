import { type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { assertThat } from "../db/assertion.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Returns a statement that makes its batch fail unless there is room for another object: fewer rows
 * of `table` match `where` than an organization can have objects of a kind.
 * @throws (the batch) 409 `limit_reached` (docs/api.md#limits)
 */
export const assertRoom = ({ db, env }: Tenant, table: SQLiteTable, where: SQL | undefined) =>
	assertThat(
		db,
		sql`(select count(*) from ${table} where ${where}) < ${Number(env.OBJECTS_PER_ORGANIZATION)}`,
		"has_room",
	);
