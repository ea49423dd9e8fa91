import { type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { MAX_PAGE_BYTES } from "../http/page.ts";
import type { Large } from "./list.ts";

/**
 * SQL for the size of columns in bytes. SQLite reads it from the start of a row, without the texts.
 */
export const sizeOf = (...columns: SQLiteColumn[]) =>
	sql.join(
		columns.map((column) => sql`coalesce(octet_length(${column}), 0)`),
		sql` + `,
	);

const keyName = (i: number) => sql`${sql.identifier(`key_${i}`)}`;

/**
 * Limits a page to the rows that have `MAX_PAGE_BYTES` and one more, which shows that there are
 * more. There are always two, because a row that is too large has a page of its own.
 * @param bytes the size of a row, which must not exceed its size as JSON
 * @param from the tables that `bytes` and the conditions of the list refer to
 */
export const largeRows =
	(bytes: SQL, from: SQLiteTable | SQL): Large =>
	({ rows, offset }, { by, order }, conditions) => {
		const keys = by.map((column, i) => sql`${column} as ${keyName(i)}`);
		const sorted = sql.join(
			by.map((_, i) => sql`${keyName(i)} ${sql.raw(order)}`),
			sql`, `,
		);
		const sizes = conditions.map(
			(condition) =>
				sql`select ${sql.join(keys, sql`, `)}, ${bytes} as bytes from ${from} where ${condition ?? sql`true`}`,
		);
		const room = sql`min(${rows}, max(2, (select count(*) from (
			select sum(bytes) over (order by ${sorted} rows between unbounded preceding and 1 preceding) as earlier
			from (${sql.join(sizes, sql` union all `)} order by ${sorted} limit ${rows} offset ${offset}))
			where coalesce(earlier, 0) <= ${MAX_PAGE_BYTES})))`;
		return Object.assign(room, { name: "room", protected: undefined });
	};

/**
 * SQL condition: the row is one of those that a page of `rows` has, newest first. Like `largeRows`,
 * but `rows` are read only once.
 * @param rows selects the key of each row, and its size as `bytes`
 */
export function fits(key: SQLiteColumn, rows: SQL) {
	const name = sql.identifier(key.name);
	// With the minimum, there are always two.
	const earlier = sql`sum(min(bytes, ${MAX_PAGE_BYTES})) over (order by ${name} desc rows between unbounded preceding and 1 preceding)`;
	return sql`${key} in (
		select ${name} from (select ${name}, ${earlier} as earlier from (${rows}))
		where coalesce(earlier, 0) <= ${MAX_PAGE_BYTES})`;
}
