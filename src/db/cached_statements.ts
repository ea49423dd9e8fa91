import { is, Param, Placeholder, type Query, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { SQLiteSelectBase } from "drizzle-orm/sqlite-core";
import type { Connected, Database } from "./client.ts";
import { isValue, type Row, rowReader } from "./rows.ts";

/*
 * Statements that the isolate caches, so that their SQL isn't built for each request
 * (docs/internals/architecture.md#cached-statements). A cached statement has no values of a
 * request, only placeholders.
 */

/**
 * Caches the result of `make` for each form: everything that the SQL of a statement depends on.
 * There must be few.
 * @param make gets only the form and nothing of a request, so all requests with the form can share
 * the result. It must not depend on the time or anything else that changes
 */
export function cacheByForm<F extends object, T>(make: (db: Database, form: F) => T) {
	const made = new Map<string, T>();
	return ({ DB }: Pick<Env, "DB">, form: F): T => {
		const name = JSON.stringify(form);
		const found = made.get(name);
		if (found) return found;
		const created = make(drizzle(DB), form);
		made.set(name, created);
		return created;
	};
}

/** The values of a request, by the names of their placeholders. */
type Values = Record<string, unknown>;

/** SQL for a placeholder with this name, whose value each request binds. */
export const placeholder = <T>(name: string) => sql<T>`${sql.placeholder(name)}`;

/** A Drizzle statement with the result `R`. */
export type Preparable<R> = {
	readonly _: { readonly result: R };
	prepare: () => Prepared;
};

type Prepared = {
	getQuery: () => Query;
	mapResult: (result: unknown, isFromBatch: boolean) => unknown;
};

type MapResult = (result: { results: Row[] }) => unknown;

/**
 * Returns how the result of a statement is read. The rows of most selects are read by `rowReader`,
 * which is faster than Drizzle.
 */
function mapperOf(statement: Preparable<unknown>, prepared: Prepared): MapResult {
	if (!is(statement, SQLiteSelectBase) || mayLackObjects(statement._.selectedFields, prepared))
		return (result) => prepared.mapResult(result, true);
	const read = rowReader(statement._.selectedFields);
	return ({ results }) => results.map(read);
}

/** Whether a nested object can be null as a whole, which Drizzle decides by its columns. */
function mayLackObjects(fields: object, prepared: Prepared) {
	const joined: object = Reflect.get(prepared, "joinsNotNullableMap") ?? {};
	return !Object.values(fields).every(isValue) && Object.values(joined).includes(false);
}

/** Values that are generated for one request: times and UUIDs. */
const MADE_ONCE = /\d{4}-\d\d-\d\dT\d\d:|[\da-f]{8}(-[\da-f]{4}){3}-/;

/**
 * Returns how a parameter of a cached statement is bound: a constant, or the value of a
 * placeholder.
 * @throws if the parameter was generated for the request in which the statement is built
 */
function binderOf(param: unknown): (values: Values) => unknown {
	const named = is(param, Param) ? param.value : param;
	if (is(named, Placeholder)) {
		const { name } = named;
		const encode = is(param, Param) ? param.encoder : undefined;
		return (values) => {
			const value = values[name];
			if (value === undefined) throw new Error(`A cached statement has no value for "${name}".`);
			return value === null || !encode ? value : encode.mapToDriverValue(value);
		};
	}
	if (MADE_ONCE.test(String(param)))
		throw new Error(`A cached statement can't contain the value ${param}.`);
	return () => param;
}

/** The SQL of a statement with placeholders, and how its result is read. */
export class CachedStatement<R> {
	readonly #sql: string;
	readonly #values: ReturnType<typeof binderOf>[];
	readonly #mapResult: MapResult;

	constructor(statement: Preparable<R>) {
		const prepared = statement.prepare();
		const { sql, params } = prepared.getQuery();
		this.#sql = sql;
		this.#values = params.map(binderOf);
		this.#mapResult = mapperOf(statement, prepared);
	}

	/** Returns the statement with the values of a request. Throws if one is missing. */
	bind(db: Connected, values: Values) {
		const sql = this.#sql;
		const query = { sql, params: this.#values.map((value) => value(values)) };
		return new Bound<R>(() => ({
			// Prepared each time, on the session of its batch.
			stmt: db.$client.prepare(sql),
			getQuery: () => query,
			mapResult: this.#mapResult,
		}));
	}
}

/** A cached statement with its values. */
class Bound<R> {
	/** Never set. Drizzle's `batch` reads the result from this type. */
	declare readonly _: { readonly dialect: "sqlite"; readonly result: R };
	/** Drizzle's `batch` calls it, like that of Drizzle's own statements. */
	readonly _prepare: () => object;

	constructor(prepare: () => object) {
		this._prepare = prepare;
	}
}
