import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { created_at } from "./columns.ts";
import { users } from "./users.ts";

/** POST requests with an `Idempotency-Key` (docs/api.md#safe-retries). Rows are deleted after a day. */
export const idempotencyKeys = sqliteTable(
	"idempotency_keys",
	{
		/** Of the request that wrote the row. */
		id: text().notNull(),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		key: text().notNull(),
		/** SHA-256 of the method, path and body, hex. */
		fingerprint: text().notNull(),
		created_at: created_at(),
		/** Until then, a request without a stored response counts as in progress; after that, as killed. */
		under_way_until: text().notNull(),
		/** Encrypted JSON: what the request read before its write. Written in the batch of the change. */
		journal: text(),
		/** JSON: the rows for the response, see `jsonOf` in src/db/snapshot.ts. */
		rows: text(),
		/** Encrypted JSON: the status, headers and body of the response. */
		answer: text(),
	},
	// No index finds the old rows: a scan an hour costs less than a row written with each key.
	(t) => [primaryKey({ columns: [t.user_id, t.key] })],
);
