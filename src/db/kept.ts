import { fillPlaceholders, type Query } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { Connected, Database } from "./client.ts";
import { isValue, rowReader } from "./rows.ts";

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
	return ({ DB }: Env, form: F): T => {
		const name = JSON.stringify(form);
		const found = made.get(name);
		if (found) return found;
		const created = make(drizzle(DB), form);
		made.set(name, created);
		return created;
	};
}

/** A select of Drizzle's, whose rows are `R`. */
type Preparable<R> = {
	readonly _: { readonly result: R; readonly selectedFields: object };
	prepare: () => { getQuery: () => Query };
};

type MapResult = (result: { results: object[] }) => unknown;

/** @throws if an object in the result may be null as a whole, which only Drizzle's own reader knows */
function checkNesting(fields: object, prepared: object) {
	const joined: object = Reflect.get(prepared, "joinsNotNullableMap") ?? {};
	const isNested = !Object.values(fields).every(isValue);
	if (isNested && Object.values(joined).includes(false))
		throw new Error("A kept select can't have an object from a table of a left join.");
}

/** The SQL of a statement with placeholders, and how its rows are read. */
export class Kept<R> {
	readonly #query: Query;
	readonly #mapResult: MapResult;

	constructor(statement: Preparable<R>) {
		const prepared = statement.prepare();
		this.#query = prepared.getQuery();
		const { selectedFields } = statement._;
		checkNesting(selectedFields, prepared);
		const read = rowReader(selectedFields);
		this.#mapResult = ({ results }) => results.map(read);
	}

	/**
	 * The statement with the values of a request, for a batch.
	 * @param anew builds the same statement with Drizzle, for SQL that has it inside
	 * @throws if a placeholder has no value
	 */
	bind(db: Connected, values: Record<string, unknown>, anew?: () => BatchItem<"sqlite">) {
		const { sql } = this.#query;
		const query = { sql, params: fillPlaceholders(this.#query.params, values) };
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
