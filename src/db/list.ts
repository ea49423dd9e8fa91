import { and, asc, desc, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteSelect } from "drizzle-orm/sqlite-core";
import type { Key, Page } from "../http/page.ts";
import type { Database } from "./client.ts";

export type RowOf<S extends SQLiteSelect> = S["_"]["result"][number];

/** What makes a list of a select. */
export type List<S extends SQLiteSelect> = {
	/** The filter of the list. */
	where: SQL | undefined;
	/** What it is ordered by; no two rows are equal in all of it. */
	by: SQLiteColumn[];
	/** The values of `by` in a row. */
	keys: (row: RowOf<S>) => Key[];
	order?: "asc" | "desc";
	/** What holds behind a row with these keys, where `by` is of several tables, and no index could tell. */
	seek?: (keys: Key[]) => SQL;
	/** The number of rows, where there is a cheaper way than to count them. */
	total?: SQL;
};

/**
 * The statements of one page: its rows and one more, and the number of all. With the cursor of the page before they
 * seek instead of skipping, and don't count again.
 */
export function paged<S extends SQLiteSelect>(
	db: Database,
	page: Page,
	select: S,
	{ where, by, keys: _, order = "desc", seek, total }: List<S>,
) {
	const after = page.after?.keys.length === by.length ? page.after : undefined;
	const count = after
		? sql`${after.count}`
		: (total ?? sql`(select count(*) from (${select.where(where).getSQL()}))`);
	const sort = order === "desc" ? desc : asc;
	const rows = select
		.where(and(where, after && (seek ?? afterCursor(by, order))(after.keys)))
		.orderBy(...by.map((column) => sort(column)))
		.limit(page.limit + 1)
		.offset(after ? 0 : page.offset);
	const counted = db.select({ count: sql<number>`${count}`.as("count") }).from(sql`(select 1)`);
	return [rows, counted] as const;
}

/** The rows behind the one with `keys`, as a comparison of row values, for which SQLite uses an index over `by`. */
const afterCursor =
	(by: SQLiteColumn[], order: "asc" | "desc") =>
	(keys: Key[]): SQL =>
		sql`(${sql.join(by, sql`, `)}) ${sql.raw(order === "desc" ? "<" : ">")} (${sql.join(
			keys.map((key) => sql`${key}`),
			sql`, `,
		)})`;
