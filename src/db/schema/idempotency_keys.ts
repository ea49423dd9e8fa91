import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { created_at } from "./columns.ts";
import { users } from "./people.ts";

/** POST requests of a day with an `Idempotency-Key` (docs/api.md#safe-retries). */
export const idempotencyKeys = sqliteTable(
	"idempotency_keys",
	{
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		key: text().notNull(),
		/** SHA-256 of the method, path and body, hex. */
		fingerprint: text().notNull(),
		created_at: created_at(),
		/** Until then, a request without a response is in progress; after that, it was killed. */
		lease_expires_at: text().notNull(),
		/** Encrypted JSON: the status, headers and body of the response. */
		response: text(),
	},
	// No index finds the old rows: a scan an hour costs less than a row written with each key.
	(t) => [primaryKey({ columns: [t.user_id, t.key] })],
);
