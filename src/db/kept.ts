import { fillPlaceholders, type Query } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { Connected, Database } from "./client.ts";
import { isValue, rowReader } from "./rows.ts";

/*
 * Statements that the isolate keeps, so that their SQL isn't built anew in each request
 * (docs/architecture.md#statements-that-are-kept). What is kept has no value of any request, only placeholders.
 */

/** What the SQL of a statement depends on. It must have few values: each is kept. */
type Form = Record<string, string | boolean>;

/**
 * Keeps what `make` returns for each form.
 * @param make sees no request, only the form: so two requests with the same form may share what it returns. Must not
 * read the clock, or anything else that changes
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

/** @throws if an object in the result may be missing, which `rowReader` doesn't see */
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
		const params = fillPlaceholders(this.#query.params, values);
		const prepared = {
			stmt: db.$client.prepare(sql),
			getQuery: () => ({ sql, params }),
			mapResult: this.#mapResult,
		};
		return new Bound<R>(prepared, anew);
	}
}

/** A kept statement with its values. Drizzle's `batch` calls `_prepare`, which each of its own statements has, too. */
export class Bound<R> {
	/** Never set: what a batch of Drizzle's reads from the type. */
	declare readonly _: { readonly dialect: "sqlite"; readonly result: R };
	readonly #prepared: object;
	readonly anew: (() => BatchItem<"sqlite">) | undefined;

	constructor(prepared: object, anew?: () => BatchItem<"sqlite">) {
		this.#prepared = prepared;
		this.anew = anew;
	}

	_prepare() {
		return this.#prepared;
	}
}
