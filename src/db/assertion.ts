import { type SQL, sql } from "drizzle-orm";
import type { Database } from "./client.ts";
import { assertions } from "./schema/assertions.ts";

/** Returns a statement that makes its batch fail unless `condition` is true when it runs. */
export function assertThat(
	db: Database,
	condition: SQL,
	assertion: keyof typeof assertions.$inferInsert = "holds",
) {
	const values = (["holds", "is_unchanged", "has_room"] as const).map((name) =>
		name === assertion ? sql`0` : sql`1`,
	);
	return db
		.insert(assertions)
		.select(sql`select ${sql.join(values, sql`, `)} where not (${condition})`);
}
