import type { SQL } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { assertExists } from "../db/assertion.ts";
import type { ScopeWith } from "../db/event_types.ts";
import type { Details } from "../db/record.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Executes a DELETE in one round trip.
 * @throws (the batch) 404 if another request has deleted the row, or it no longer fulfils `where`
 */
export const removeRow = (
	tenant: Tenant,
	entry: Details & { scope: ScopeWith<"deleted"> },
	table: SQLiteTable,
	where: SQL | undefined,
) =>
	tenant.write({
		checks: [assertExists(tenant.db, table, where)],
		changes: [tenant.db.delete(table).where(where)],
		entries: [{ activity: "deleted", ...entry }],
	});
