import { type Column, getTableColumns, inArray, is, lt, SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { type DrizzleD1Database, drizzle } from "drizzle-orm/d1";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import type { App } from "../env.ts";

export type Database = DrizzleD1Database;

/**
 * D1 for one request: a session that starts at `start` (a bookmark or a constraint of D1's sessions API), whose
 * trips and rows are counted on the request's meter. Only `batch` reaches the database. What comes after `restart`
 * is asked of another session.
 */
export function connect(c: Context<App>, start: string) {
	let session = c.env.DB.withSession(start);
	c.set("bookmark", () => session.getBookmark());
	const db: Database = drizzle({
		prepare: (query) => session.prepare(query),
		batch: async <T>(statements: D1PreparedStatement[]) => {
			c.var.meter.d1_trips += 1;
			const results = await session.batch<T>(statements);
			for (const { meta } of results) {
				c.var.meter.d1_rows_read += meta.rows_read;
				c.var.meter.d1_rows_written += meta.rows_written;
			}
			return results;
		},
		exec: (query) => c.env.DB.exec(query),
		withSession: (constraint) => c.env.DB.withSession(constraint),
		dump: () => c.env.DB.dump(),
	});
	const restart = (there: string) => {
		session = c.env.DB.withSession(there);
	};
	return { db, restart };
}

type Statement = BatchItem<"sqlite">;

type ResultOf<S> = S extends Statement ? S["_"]["result"] : undefined;

/** Runs the statements in order, in one atomic trip; the results have the statements' names. Undefined ones are skipped. */
export function runBatch<S extends Record<string, Statement | undefined>>(
	db: Database,
	statements: S,
): Promise<{ [K in keyof S]: ResultOf<S[K]> }>;
export async function runBatch(
	db: Database,
	statements: Record<string, Statement | undefined>,
): Promise<unknown> {
	const named = Object.entries(statements).flatMap(([name, statement]) =>
		statement ? [{ name, statement }] : [],
	);
	const [first, ...rest] = named.map(({ statement }) => statement);
	const results = first ? await db.batch([first, ...rest]) : [];
	return Object.fromEntries(named.map(({ name }, i) => [name, results[i]]));
}

/**
 * A column under another name: D1 answers a batch with objects, in which two columns of one name are one.
 * (trap: drizzle would then read each value into the column beside its own)
 */
export const aliased = <C extends Column, const N extends string>(column: C, name: N) =>
	sql<C["_"]["data"]>`${column}`.mapWith(column).as(name);

/** What a path says is a row's integer id; 0, which no row has, where it can't be one. */
export const rowId = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : 0);

/** `column` is one of `list`, which goes in as one value, however long it is. */
export const inList = (column: Column, list: unknown[]) =>
	sql`${column} in (select value from json_each(${JSON.stringify(list)}))`;

type Row<T extends SQLiteTable> = {
	[K in keyof T["$inferInsert"]]: T["$inferInsert"][K] | SQL;
};

/** Inserts `row` if `condition` holds at that moment. A column that it lacks gets the table's default. */
export function insertWhere<T extends SQLiteTable>(
	db: Database,
	table: T,
	row: Row<T>,
	condition: SQL,
) {
	const given = new Map<string, unknown>(Object.entries(row));
	const values = Object.entries(getTableColumns(table)).map(([name, column]) => {
		const value = given.get(name) ?? column.defaultFn?.() ?? column.default ?? null;
		return is(value, SQL) ? value : sql.param(value, column);
	});
	return db.insert(table).select(sql`select ${sql.join(values, sql`, `)} where ${condition}`);
}

/**
 * Inserts those of `rows`, which go in as one value, of which `condition` holds at that moment: it speaks of what is in
 * a row as `value ->> 'name'`. All rows have the same columns; one that they lack gets one default for all.
 */
export function insertEach<T extends SQLiteTable>(
	db: Database,
	table: T,
	rows: (Partial<T["$inferInsert"]> & Record<string, unknown>)[],
	condition: SQL,
) {
	const given = new Set(Object.keys(rows[0] ?? {}));
	const values = Object.entries(getTableColumns(table)).map(([name, column]) =>
		given.has(name)
			? sql`value ->> ${name}`
			: sql.param(column.defaultFn?.() ?? column.default ?? null, column),
	);
	return db
		.insert(table)
		.select(
			sql`select ${sql.join(values, sql`, `)} from json_each(${JSON.stringify(rows)}) where ${condition}`,
		);
}

/** The statement that removes rows whose `at` is before a moment, oldest first: ten thousand at most, so no tick is long. */
export function deleteOlderThan(
	db: Database,
	table: SQLiteTable,
	id: SQLiteColumn,
	at: SQLiteColumn,
	before: string,
) {
	const old = db.select({ id }).from(table).where(lt(at, before)).orderBy(at).limit(10_000);
	return db.delete(table).where(inArray(id, old));
}
