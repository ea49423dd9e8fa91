import { and, asc, desc, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteSelect, SQLiteTable } from "drizzle-orm/sqlite-core";
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
	/**
	 * Conditions that no two hold for the same row. The list is what any of them holds for. Each is read from an index
	 * in the order of the list, and only as far as the page needs, where a single condition with OR or IN would sort. Five at
	 * most (`MAX_PARTS`).
	 */
	parts?: (SQL | undefined)[];
	/** The names of `by` in the result, where columns have an alias. Needed with `parts`. */
	names?: string[];
};

/** D1 refuses a union of more. */
const MAX_PARTS = 5;

/** Which rows of a list a page has, and one more. */
type Slice = Pick<Page, "after" | "offset"> & { rows: number | Placeholder };

/**
 * The two statements for a page: its rows and one more, and the total. With a cursor, the page
 * starts after the cursor's row instead of skipping `offset` rows, and the total is taken from the
 * cursor.
 */
export const paged = <S extends SQLiteSelect>(
	db: Database,
	{ limit, offset, after }: Omit<Page, "url">,
	select: () => S,
	list: List<S>,
) => statementsOf(db, { rows: limit + 1, offset, after }, select, list);

/** The two statements for the first page of a list, with a placeholder for the number of rows. */
export const firstPage = <S extends SQLiteSelect>(
	db: Database,
	rows: Placeholder,
	select: () => S,
	list: List<S>,
) => statementsOf(db, { rows, offset: 0, after: undefined }, select, list);

function statementsOf<S extends SQLiteSelect>(
	db: Database,
	page: Slice,
	select: () => S,
	{ where, by, keys: _, order = "desc", seek, total, parts, names }: List<S>,
) {
	const after = page.after?.keys.length === by.length ? page.after : undefined;
	const count = after
		? sql`${after.count}`
		: (total ?? sql`(select count(*) from (${select().where(where).getSQL()}))`);
	const sort = order === "desc" ? desc : asc;
	const isLater = after && (seek ?? afterCursor(by, order))(after.keys);
	const part = (condition?: SQL) => select().where(and(where, condition, isLater));
	const [first, ...others] = parts ?? [];
	if (others.length >= MAX_PARTS) throw new Error(`A list has more than ${MAX_PARTS} parts.`);
	const sorted = others.length === 0 ? by : (names ?? by.map(({ name }) => name)).map(identifier);
	const union = part(first);
	for (const condition of others) append(union, part(condition));
	const rows = union
		.orderBy(...sorted.map((column) => sort(column)))
		.limit(page.rows)
		.offset(after ? 0 : page.offset);
	const counted = db.select({ count: sql<number>`${count}`.as("count") }).from(sql`(select 1)`);
	return [rows, counted] as const;
}

/** Rows that an index finds in another order than the list's. */
type Matches = {
	/** The column that `found` has values of. */
	id: SQLiteColumn;
	/** The ids of the rows that match, and what they are sorted by: names of `from`, which an index has. */
	found: SQL;
	from: SQLiteTable | SQL;
	where: SQL | undefined;
	by: (SQLiteColumn | SQL)[];
	order?: "asc" | "desc";
};

/**
 * `where` and `total` of a list. All rows that match have to be sorted, but only those of the page are read in full.
 */
export function matching(page: Page, { id, found, from, where, by, order = "desc" }: Matches) {
	const after = page.after?.keys.length === by.length ? page.after : undefined;
	const isLater = after && afterCursor(by, order)(after.keys);
	const sorted = by.map((column) => sql`${column} ${sql.raw(order)}`);
	const limit = page.limit + 1 + (after ? 0 : page.offset);
	return {
		where: sql`${id} in (
			select ${found} from ${from} where ${and(where, isLater)} order by ${sql.join(sorted, sql`, `)} limit ${limit})`,
		total: countWhere(from, where),
	};
}

/** Adds the rows of another select. (Drizzle changes the first one, whose type can't say that the second has the same.) */
const append = (union: SQLiteSelect, select: SQLiteSelect) => union.unionAll(select);

const identifier = (name: string) => sql`${sql.identifier(name)}`;

/** SQL for a counter that triggers keep in the row with this id (docs/decisions/0005-counters-by-triggers.md). */
export const counter = (column: SQLiteColumn, id: SQL | string | number) =>
	sql`coalesce((select ${column} from ${column.table} where ${column.table}.id = ${id}), 0)`;

/** SQL for the number of rows of `table` for which `where` holds. An index with all its columns answers it. */
export const countWhere = (table: SQLiteTable | SQL, where: SQL | undefined) =>
	sql`(select count(*) from ${table} where ${where})`;

/**
 * The condition for rows after the one with `keys`: a comparison of row values, for which SQLite
 * uses an index over `by`.
 */
const afterCursor =
	(by: (SQLiteColumn | SQL)[], order: "asc" | "desc") =>
	(keys: Key[]): SQL =>
		sql`(${sql.join(by, sql`, `)}) ${sql.raw(order === "desc" ? "<" : ">")} (${sql.join(
			keys.map((key) => sql`${key}`),
			sql`, `,
		)})`;
