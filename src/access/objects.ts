import { type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { assertExists, assertThat } from "../db/client.ts";
import type { ScopeWith } from "../db/event_types.ts";
import type { LifeDetails } from "../db/record.ts";
import type { Revoked } from "./receipts.ts";
import type { Tenant } from "./tenant.ts";

/** The entry of a deletion, and what it revokes, if it does. */
type Removal = LifeDetails & { scope: ScopeWith<"deleted">; revokes?: Revoked };

/**
 * Executes a DELETE in one round trip.
 * @throws (the batch) 404 if another request has deleted the row, or it no longer fulfils `where`
 */
export const removeRow = (
	tenant: Tenant,
	{ revokes, ...entry }: Removal,
	table: SQLiteTable,
	where: SQL | undefined,
) =>
	tenant.write({
		...(revokes && { revokes }),
		checks: [assertExists(tenant.db, table, where)],
		changes: [tenant.db.delete(table).where(where)],
		entries: [{ activity: "deleted", ...entry }],
	});

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
