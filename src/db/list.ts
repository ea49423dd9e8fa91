import { and, asc, desc, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteSelect } from "drizzle-orm/sqlite-core";
import type { Key, Page } from "../http/page.ts";
import type { Database } from "./client.ts";

export type RowOf<S extends SQLiteSelect> = S["_"]["result"][number];

/** How a select is filtered, sorted and paged. */
export type List<S extends SQLiteSelect> = {
	where: SQL | undefined;
	/** The columns to sort by, which together must be unique. */
	by: SQLiteColumn[];
	/** Returns a row's values of `by`, for the cursor. */
	keys: (row: RowOf<S>) => Key[];
	order?: "asc" | "desc";
	/**
	 * The condition for rows after the one with these keys. Needed if `by` has columns of several
	 * tables, where a comparison of row values can't use an index.
	 */
	seek?: (keys: Key[]) => SQL;
	/** An expression for the number of rows, if there is a cheaper one than counting them. */
	total?: SQL;
};

/**
 * The two statements for a page: its rows and one more, and the total. With a cursor, the page
 * starts after the cursor's row instead of skipping `offset` rows, and the total is taken from the
 * cursor.
 */
export function paged<S extends SQLiteSelect>(
	db: Database,
	page: Omit<Page, "url">,
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

/**
 * The condition for rows after the one with `keys`: a comparison of row values, for which SQLite
 * uses an index over `by`.
 */
const afterCursor =
	(by: SQLiteColumn[], order: "asc" | "desc") =>
	(keys: Key[]): SQL =>
		sql`(${sql.join(by, sql`, `)}) ${sql.raw(order === "desc" ? "<" : ">")} (${sql.join(
			keys.map((key) => sql`${key}`),
			sql`, `,
		)})`;
