import type { SQL } from "drizzle-orm";
import {
	CachedStatement,
	cacheByForm,
	type Preparable,
	placeholder,
} from "../db/cached_statements.ts";
import type { Database, Statement } from "../db/client.ts";
import { IDS, KEY, type TenantSql } from "./query_scope.ts";
import { idsOf, type Place } from "./target.ts";

/** Returns a tenant with placeholders instead of values, for all places of a form (`formOf`). */
const tenantOf = (db: Database, place: Place): TenantSql => ({
	db,
	kind: place.kind,
	key: KEY,
	...idsOf(place, KEY.user_id, IDS),
});

/** A statement that can be cached. */
type Cacheable = Preparable<unknown> & Statement;

/** SQL for further values of a request, by name. */
export type Given<N extends string> = Record<N, SQL>;

function placeholders<N extends string>(names: readonly N[]): Given<N>;
function placeholders(names: readonly string[]) {
	return Object.fromEntries(names.map((name) => [name, placeholder(name)]));
}

/** A cached statement with the result `R`, which needs the values `N`. */
export type TenantStatement<R, N extends string> = {
	names: readonly N[];
	statement: (env: Env, place: Place) => CachedStatement<R>;
};

/**
 * Caches a statement of a family, for `tenant.cached`.
 * @param names the names of further values, besides those of the tenant
 * @param build builds the statement; the tenant and `given` contain only placeholders
 */
export function cacheStatement<S extends Cacheable, N extends string = never>(
	names: readonly N[],
	build: (tenant: TenantSql, given: Given<N>) => S,
): TenantStatement<S["_"]["result"], N> {
	const given = placeholders(names);
	const statement = cacheByForm(
		(db, place: Place) => new CachedStatement<S["_"]["result"]>(build(tenantOf(db, place), given)),
	);
	return { names, statement };
}
