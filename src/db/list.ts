import { and, asc, desc, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteSelect, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Key, Page } from "../http/page.ts";
import type { Database } from "./client.ts";

export type RowOf<S extends SQLiteSelect> = S["_"]["result"][number];

/**
 * Returns the LIMIT of a page that ends before it is too large: SQL, in the form of a placeholder,
 * because Drizzle's type accepts only that.
 * @param conditions the conditions of each part of the list
 */
export type Large = (
	page: { rows: number; offset: number },
	sorted: { by: SQLiteColumn[]; order: "asc" | "desc" },
	conditions: (SQL | undefined)[],
) => Placeholder;

/** How a select is filtered, sorted and paged. */
export type List<S extends SQLiteSelect> = {
	/** Selects the rows of a part, by its index. */
	select: (part: number) => S;
	where: SQL | undefined;
	/** The columns to sort by, which must be unique together. */
	by: SQLiteColumn[];
	/** Returns the values of `by` of a row, for the cursor. */
	keys: (row: RowOf<S>) => Key[];
	order?: "asc" | "desc";
	/**
	 * The condition for rows after the one with these keys. Needed if `by` has columns of several
	 * tables, because a comparison of row values can't use an index then.
	 */
	seek?: (keys: Key[]) => SQL;
	/** SQL for the number of rows, if there is a cheaper way than counting them. */
	total?: SQL;
	/**
	 * Conditions that exclude each other; the list has the rows that match any of them. Each part is
	 * read from an index in the order of the list, only as far as the page needs. A single condition
	 * with OR or IN would sort all rows. At most `MAX_PARTS`. If `select` depends on the part, the list
	 * needs a `total`.
	 */
	parts?: (SQL | undefined)[];
	/**
	 * The rows of the list, if an index finds them in another order. They are sorted without being
	 * read whole. `id` and `by` are columns of `from` in an index.
	 */
	few?: { id: SQLiteColumn; from: SQLiteTable | SQL; where: SQL | undefined } | undefined;
	/** The names of `by` in the result, if columns have an alias. Needed with `parts`. */
	names?: string[];
	/** Needed if a page could be too large for memory (`db/large.ts`). It then ends earlier. */
	large?: Large | undefined;
};

/** D1 rejects a union of more selects. */
const MAX_PARTS = 5;

/** Selects the rows of a page. `rows` is one more than the page has. */
type Slice = Pick<Page, "after" | "offset"> & { rows: number | Placeholder };

/**
 * Returns the two statements for a page: its rows and one more, and the total. With a cursor, the
 * page starts after the cursor's row instead of skipping `offset` rows, and the total is taken from
 * the cursor. If `rows` is a placeholder, it must be for few rows: `large` is ignored.
 */
export function paged<S extends SQLiteSelect>(
	db: Database,
	page: Slice,
	{ select, where, by, order = "desc", seek, total, parts, few, names, large }: List<S>,
) {
	const after = page.after?.keys.length === by.length ? page.after : undefined;
	const whole = few
		? countWhere(few.from, few.where)
		: (total ?? sql`(select count(*) from (${select(0).where(where).getSQL()}))`);
	const count = after ? sql`${after.count}` : whole;
	const sort = order === "desc" ? desc : asc;
	const isLater = after && (seek ?? afterCursor(by, order))(after.keys);
	const isFound =
		few &&
		sql`${few.id} in (
			select ${few.id} from ${few.from} where ${and(few.where, isLater)}
			order by ${sql.join(by.map(sort), sql`, `)}
			limit ${typeof page.rows === "number" ? page.rows + (after ? 0 : page.offset) : page.rows})`;
	const [first, ...others] = (parts ?? [undefined]).map((part) =>
		and(where, isFound, part, isLater),
	);
	if (others.length >= MAX_PARTS) throw new Error(`A list has more than ${MAX_PARTS} parts.`);
	const sorted =
		others.length === 0 && !names ? by : (names ?? by.map(({ name }) => name)).map(identifier);
	const union = select(0).where(first);
	for (const [i, condition] of others.entries()) append(union, select(i + 1).where(condition));
	const offset = after ? 0 : page.offset;
	const limit =
		large && typeof page.rows === "number"
			? large({ rows: page.rows, offset }, { by, order }, [first, ...others])
			: page.rows;
	const rows = union
		.orderBy(...sorted.map((column) => sort(column)))
		.limit(limit)
		.offset(offset);
	const counted = db.select({ count: sql<number>`${count}`.as("count") }).from(sql`(select 1)`);
	return [rows, counted] as const;
}

/** Adds the rows of another select, which must have the same columns, to the first. */
const append = (union: SQLiteSelect, select: SQLiteSelect) => union.unionAll(select);

const identifier = (name: string) => sql`${sql.identifier(name)}`;

/** SQL for a counter, such as that of `members_insert`, in the row with this id. */
export const counter = (column: SQLiteColumn, id: SQL | string | number) =>
	sql`coalesce((select ${column} from ${column.table} where ${column.table}.id = ${id}), 0)`;

/** SQL for the number of rows that match `where`, which an index should have. */
export const countWhere = (table: SQLiteTable | SQL, where: SQL | undefined) =>
	sql`(select count(*) from ${table} where ${where})`;

/** Returns the condition for rows after `keys`: row values, for which an index over `by` works. */
const afterCursor =
	(by: SQLiteColumn[], order: "asc" | "desc") =>
	(keys: Key[]): SQL =>
		sql`(${sql.join(by, sql`, `)}) ${sql.raw(order === "desc" ? "<" : ">")} (${sql.join(
			by.map((column, i) => sql`${sql.param(keys[i], column)}`),
			sql`, `,
		)})`;
