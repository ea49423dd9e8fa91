import { type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { MAX_PAGE_BYTES } from "../http/page.ts";
import type { Large } from "./list.ts";

/** SQL for the size of columns in bytes, which SQLite reads without the texts. */
export const sizeOf = (...columns: SQLiteColumn[]) =>
	sql.join(
		columns.map((column) => sql`coalesce(octet_length(${column}), 0)`),
		sql` + `,
	);

/**
 * SQL for the keys of the first of `rows` that have `max` bytes, and one more, which shows that
 * there are more. There are always two, because a row that is too large has a page of its own.
 * @param rows selects the keys of each row, and its size as `bytes`
 */
function fitting(keys: string[], order: "asc" | "desc", rows: SQL, max = MAX_PAGE_BYTES) {
	const names = keys.map((key) => sql.identifier(key));
	const sorted = names.map((name) => sql`${name} ${sql.raw(order)}`);
	const earlier = sql`sum(min(bytes, ${max}))
		over (order by ${sql.join(sorted, sql`, `)} rows between unbounded preceding and 1 preceding)`;
	return sql`select ${sql.join(names, sql`, `)} from (select *, ${earlier} as earlier from (${rows}))
		where coalesce(earlier, 0) <= ${max}`;
}

/** SQL condition: the row is on a page of `rows`, which has at most `max` bytes. */
export const fits = (key: SQLiteColumn, order: "asc" | "desc", rows: SQL, max?: number) =>
	sql`${key} in (${fitting([key.name], order, rows, max)})`;

/**
 * Limits a page of a list to the rows that fit.
 * @param bytes the size of a row, which must not exceed its size as JSON
 * @param from the tables that `bytes` and the conditions of the list refer to
 */
export const largeRows =
	(bytes: SQL, from: SQLiteTable | SQL): Large =>
	({ rows, offset }, { by, order }, conditions) => {
		const names = by.map((_, i) => `key_${i}`);
		const keys = by.map((column, i) => sql`${column} as ${sql.identifier(`key_${i}`)}`);
		const sizes = conditions.map(
			(condition) =>
				sql`select ${sql.join(keys, sql`, `)}, ${bytes} as bytes from ${from} where ${condition ?? sql`true`}`,
		);
		const sorted = names.map((name) => sql`${sql.identifier(name)} ${sql.raw(order)}`);
		const page = sql`${sql.join(sizes, sql` union all `)} order by ${sql.join(sorted, sql`, `)}
			limit ${rows} offset ${offset}`;
		const room = sql`(select count(*) from (${fitting(names, order, page)}))`;
		return Object.assign(room, { name: "room", protected: undefined });
	};
