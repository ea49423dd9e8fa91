import { eq, type SQL } from "drizzle-orm";
import type { SQLiteInsertValue, SQLiteUpdateSetSource } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { assertExists, type Database } from "../db/client.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import { cache, newKey, toRecord } from "./keys.ts";

/*
 * The only code that writes rows of `personal_api_keys`: users' own keys, sessions, the access of apps,
 * and the keys of service accounts and jobs; `usage.ts` alone notes their last use. Each function returns parts of a write, so the caller
 * decides whose key it is, what it may do, and what the log says.
 */

type Columns = Omit<SQLiteInsertValue<typeof personalApiKeys>, "id" | "hash" | "mask_value">;

/**
 * Makes a key.
 * @returns its value, which is stored nowhere; its row, without defaults; and the statements that
 * insert and select the row
 */
export async function mint<C extends Columns>(db: Database, given: C, prefix?: string) {
	const { value, columns } = await newKey(prefix);
	const row = { ...given, ...columns, id: v7() };
	return {
		value,
		row,
		insert: db.insert(personalApiKeys).values(row),
		select: db.select().from(personalApiKeys).where(eq(personalApiKeys.id, row.id)),
	};
}

/** Stores the record of a key that was minted or changed, so that its next request finds it. */
export const remember = (env: Env, row: typeof personalApiKeys.$inferSelect) =>
	cache(env, row.hash, toRecord(row));

export const changeKeys = (
	db: Database,
	where: SQL | undefined,
	values: SQLiteUpdateSetSource<typeof personalApiKeys>,
) => db.update(personalApiKeys).set(values).where(where);

/**
 * Ends keys, if there are any. Their next request is a 401, whatever KV has
 * (docs/internals/decisions/0002-kv-is-an-index.md).
 */
export const endKeys = (db: Database, where: SQL | undefined) =>
	db.delete(personalApiKeys).where(where);

/**
 * Ends a key that was read before. The write fails if another request has ended it
 * (`is_current`), so the entries are written once.
 */
export const endKey = <E>(db: Database, where: SQL | undefined, entries: E[]) => ({
	checks: [assertExists(db, personalApiKeys, where)],
	changes: [endKeys(db, where)],
	entries,
});
