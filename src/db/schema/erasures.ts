import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { created_at, list } from "./columns.ts";

/**
 * Users who have deleted themselves, until nothing that is stored without an index names them any
 * more (src/sign_in/erasure/clear.ts). Then the row is deleted.
 */
export const erasures = sqliteTable("erasures", {
	user_id: integer().primaryKey(),
	/** The user's uuid, which the log keeps. */
	uuid: text().notNull(),
	/** The addresses that the user had, here and at providers. */
	addresses: list<string>(),
	/** The position in the activity log up to which they are removed. */
	position: integer().notNull().default(0),
	created_at: created_at(),
});
