import { is, Param, Placeholder, type Query, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import { SQLiteSelectBase } from "drizzle-orm/sqlite-core";
import type { Connected, Database } from "./client.ts";
import { isValue, type Row, rowReader } from "./rows.ts";

/*
 * Statements that the isolate keeps, so that their SQL isn't built anew in each request
 * (docs/architecture.md#statements-that-are-kept). What is kept has no value of any request, only placeholders.
 */

/** What the SQL of a statement depends on. There must be few forms, since what is made for each is kept. */
type Form = Record<string, string | boolean>;

/**
 * Keeps what `make` returns for each form.
 * @param make is given the form and nothing of a request, so all requests with the form can share what it returns. It must
 * not read the clock, or anything else that changes
 */
export function keepByForm<F extends Form, T>(make: (db: Database, form: F) => T) {
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

/** SQL for a value that each request has, by its name. */
export const placeholder = <T>(name: string) => sql<T>`${sql.placeholder(name)}`;

/** A statement of Drizzle's, whose result is `R`. */
export type Preparable<R> = {
	readonly _: { readonly result: R };
	prepare: () => Prepared;
};

type Prepared = {
	getQuery: () => Query;
	mapResult: (result: unknown, isFromBatch: boolean) => unknown;
};

type MapResult = (result: { results: Row[] }) => unknown;

/** How the result of a statement is read: the rows of most selects by a reader of our own, which is faster than Drizzle's. */
function mapperOf(statement: Preparable<unknown>, prepared: Prepared): MapResult {
	if (!is(statement, SQLiteSelectBase) || mayLackObjects(statement._.selectedFields, prepared))
		return (result) => prepared.mapResult(result, true);
	const read = rowReader(statement._.selectedFields);
	return ({ results }) => results.map(read);
}

/** Whether a select has an object that may be null as a whole, which Drizzle tells from its columns. */
function mayLackObjects(fields: object, prepared: Prepared) {
	const joined: object = Reflect.get(prepared, "joinsNotNullableMap") ?? {};
	return !Object.values(fields).every(isValue) && Object.values(joined).includes(false);
}

/** What is made for one request: a time, or an id of its own. */
const MADE_ONCE = /\d{4}-\d\d-\d\dT\d\d:|[\da-f]{8}(-[\da-f]{4}){3}-/;

/**
 * A value of a kept statement: the same for all requests, or that of a placeholder.
 * @throws if it was made for the request in which the statement is built
 */
function binderOf(param: unknown): (values: Values) => unknown {
	const named = is(param, Param) ? param.value : param;
	if (is(named, Placeholder)) {
		const { name } = named;
		const encode = is(param, Param) ? param.encoder : undefined;
		return (values) => {
			const value = values[name];
			if (value === undefined) throw new Error(`A kept statement has no value for "${name}".`);
			return value === null || !encode ? value : encode.mapToDriverValue(value);
		};
	}
	if (MADE_ONCE.test(String(param)))
		throw new Error(`A kept statement can't have the value ${param}.`);
	return () => param;
}

/** The SQL of a statement with placeholders, and how its result is read. */
export class Kept<R> {
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

	/**
	 * The statement with the values of a request, for a batch.
	 * @param anew builds the same statement with Drizzle, for SQL that has it inside
	 * @throws if a placeholder has no value
	 */
	bind(db: Connected, values: Values, anew?: () => BatchItem<"sqlite">) {
		const sql = this.#sql;
		const query = { sql, params: this.#values.map((value) => value(values)) };
		const prepare = () => ({
			// Each time on the session that the batch is sent to.
			stmt: db.$client.prepare(sql),
			getQuery: () => query,
			mapResult: this.#mapResult,
		});
		return new Bound<R>(prepare, anew);
	}
}

/** A kept statement with its values. */
export class Bound<R> {
	/** Never set: what a batch of Drizzle's reads from the type. */
	declare readonly _: { readonly dialect: "sqlite"; readonly result: R };
	/** Drizzle's `batch` calls it, as it does with its own statements. */
	readonly _prepare: () => object;
	/** Builds the same statement with Drizzle. */
	readonly anew: (() => BatchItem<"sqlite">) | undefined;

	constructor(prepare: () => object, anew?: () => BatchItem<"sqlite">) {
		this._prepare = prepare;
		this.anew = anew;
	}
}
