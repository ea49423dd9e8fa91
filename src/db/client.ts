import { type Column, getTableColumns, inArray, is, lt, SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { assertions } from "./schema/assertions.ts";

export type Database = DrizzleD1Database;

/** A database whose statements can be prepared without Drizzle. */
export type Connected = Database & { $client: Pick<D1Database, "prepare"> };

export type Statement = BatchItem<"sqlite">;

export type ResultOf<S> = S extends Statement
	? S["_"]["result"]
	: S extends readonly (infer One)[]
		? ResultOf<One>[]
		: undefined;

type Part = Statement | readonly Statement[] | undefined;

/**
 * Runs the statements in order, as one transaction in one round trip. Each part is a statement, a
 * list of statements, or undefined.
 * @returns the results, by the names of the parts
 */
export function runBatch<S extends Record<string, Part>>(
	db: Database,
	parts: S,
): Promise<{ [K in keyof S]: ResultOf<S[K]> }>;
export async function runBatch(db: Database, parts: Record<string, Part>): Promise<unknown> {
	const [first, ...rest] = Object.values(parts).flatMap((part) => part ?? []);
	const results: unknown[] = first ? await db.batch([first, ...rest]) : [];
	const resultsOf = (part: Part) =>
		Array.isArray(part) ? results.splice(0, part.length) : part && results.shift();
	return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, resultsOf(part)]));
}

/**
 * Returns a column under another name. D1 returns the rows of a batch as objects: two columns with
 * the same name become one, and Drizzle then reads the following values into the wrong columns.
 */
export const aliased = <C extends Column, const N extends string>(column: C, name: N) =>
	sql<C["_"]["data"]>`${column}`.mapWith(column).as(name);

/** Parses an integer id from a path. Returns 0, which no row has, if it isn't one. */
export const rowId = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : 0);

/** SQL condition: `column` is in `list`, which is bound as one value, or is SQL for JSON. */
export const inList = (column: Column, list: unknown[] | SQL) =>
	sql`${column} in (select value from json_each(${is(list, SQL) ? list : JSON.stringify(list.map((value) => column.mapToDriverValue(value)))}))`;

type Columns<T extends SQLiteTable> = T["_"]["columns"];

/** Returns the columns of a table that have the name of one of the fields. */
export function columnsIn<T extends SQLiteTable, Fields extends object>(
	table: T,
	fields: Fields,
): Pick<Columns<T>, keyof Columns<T> & keyof Fields>;
export function columnsIn(table: SQLiteTable, fields: object) {
	const columns = Object.entries(getTableColumns(table));
	return Object.fromEntries(columns.filter(([name]) => name in fields));
}

type Row<T extends SQLiteTable> = {
	[K in keyof T["$inferInsert"]]: T["$inferInsert"][K] | SQL;
};

/** Returns the values of all columns, including the defaults of missing ones. */
export function withDefaults<T extends SQLiteTable>(table: T, row: Row<T>) {
	const values = new Map<string, unknown>(Object.entries(row));
	return Object.fromEntries(
		Object.entries(getTableColumns(table)).map(([name, column]) => [
			name,
			values.get(name) ?? column.defaultFn?.() ?? column.default ?? null,
		]),
	);
}

/** Inserts `row` if `condition` is true. Missing columns get the table's defaults. */
export function insertWhere<T extends SQLiteTable>(
	db: Database,
	table: T,
	row: Row<T>,
	condition: SQL,
) {
	const complete = withDefaults(table, row);
	const values = Object.entries(getTableColumns(table)).map(([name, column]) => {
		const value = complete[name];
		return is(value, SQL) ? value : sql.param(value, column);
	});
	return db.insert(table).select(sql`select ${sql.join(values, sql`, `)} where ${condition}`);
}

/** Which rows are inserted, and SQL for columns that they don't have. */
type Inserted = { condition?: SQL; computed?: Record<string, SQL> };

/**
 * Inserts the `rows` for which `condition` is true when the statement runs. The rows are bound as a
 * single JSON value; the condition refers to a column of the new row as `value ->> 'name'`. All
 * rows must have the same columns. The default of a missing column is computed once for all rows.
 */
export function insertEach<T extends SQLiteTable>(
	db: Database,
	table: T,
	{
		rows,
		...options
	}: Inserted & {
		rows: (Partial<T["$inferInsert"]> & Record<string, unknown>)[];
	},
) {
	const names = Object.keys(rows[0] ?? {});
	return insertJson(db, table, { rows: sql`${toJson(table, rows)}`, names, ...options });
}

/** Returns the JSON of rows as they are stored. */
export function toJson(table: SQLiteTable, rows: Record<string, unknown>[]) {
	const columns = getTableColumns(table);
	const stored = rows.map((row) =>
		Object.fromEntries(
			Object.entries(row).map(([name, value]) => [
				name,
				value === null ? value : (columns[name]?.mapToDriverValue(value) ?? value),
			]),
		),
	);
	return JSON.stringify(stored);
}

/** Like `insertEach`, with SQL for the JSON of the rows. `names`: their columns. */
export function insertJson<T extends SQLiteTable>(
	db: Database,
	table: T,
	{
		rows,
		names = Object.keys(getTableColumns(table)),
		condition = sql`true`,
		computed = {},
	}: Inserted & { rows: SQL; names?: string[] },
) {
	const values = Object.entries(getTableColumns(table)).map(([name, column]) =>
		names.includes(name)
			? sql`value ->> ${sql.raw(`'${name}'`)}`
			: (computed[name] ?? sql.param(column.defaultFn?.() ?? column.default ?? null, column)),
	);
	return db
		.insert(table)
		.select(sql`select ${sql.join(values, sql`, `)} from json_each(${rows}) where ${condition}`);
}

/** Returns a statement that deletes the oldest 10,000 rows whose `at` is before `before`. */
export function deleteOlderThan(
	db: Database,
	table: SQLiteTable,
	{ id, at, before }: { id: SQLiteColumn; at: SQLiteColumn; before: string },
) {
	const old = db.select({ id }).from(table).where(lt(at, before)).orderBy(at).limit(10_000);
	return db.delete(table).where(inArray(id, old));
}

/** Returns a database that counts its statements: D1 allows 1,000 per invocation. */
export function countStatements(DB: D1Database) {
	let statements = 0;
	const db: D1Database = {
		prepare: (query) => {
			statements += 1;
			return DB.prepare(query);
		},
		batch: (batch) => DB.batch(batch),
		exec: (query) => DB.exec(query),
		withSession: (constraint) => DB.withSession(constraint),
		dump: () => DB.dump(),
	};
	return { DB: db, statements: () => statements };
}

const NAMES = ["has_access", "is_current", "is_unchanged", "has_room"] as const;

type Assertion = (typeof NAMES)[number];

/** Returns a statement that makes its batch fail for each row of `rest`. */
function failFor(db: Database, rest: SQL, assertion: Assertion) {
	const values = NAMES.map((name) => (name === assertion ? sql`0` : sql`1`));
	return db.insert(assertions).select(sql`select ${sql.join(values, sql`, `)} ${rest}`);
}

/** Returns a statement that makes its batch fail unless `condition` is true when it runs. */
export const assertThat = (db: Database, condition: SQL, assertion: Assertion) =>
	failFor(db, sql`where not (${condition})`, assertion);

/** Like `assertThat`: `table` has a row for which `where` is true. */
export const assertExists = (db: Database, table: SQLiteTable, where: SQL | undefined) =>
	assertThat(db, sql`exists (select 1 from ${table} where ${where})`, "is_current");

/**
 * The opposite of `assertExists`. Without a subquery, in which SQLite allows only half as many levels
 * of a condition.
 */
export const assertNone = (db: Database, table: SQLiteTable, where: SQL | undefined) =>
	failFor(db, sql`from ${table} where ${where}`, "is_current");

/** Whether a batch failed because of this assertion. */
export const isFailed = (error: unknown, assertion: Assertion) =>
	error instanceof Error && error.message.includes(`CHECK constraint failed: ${assertion}`);
