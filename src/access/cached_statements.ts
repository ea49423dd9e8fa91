import type { SQL } from "drizzle-orm";
import {
	CachedStatement,
	cacheByForm,
	type Preparable,
	placeholder,
} from "../db/cached_statements.ts";
import type { Database, Statement } from "../db/client.ts";
import { keyParams, type QueryScope, targetParams } from "./query_scope.ts";
import { idsOf, type Target } from "./target.ts";

/** Returns a tenant with placeholders instead of values, for all targets of a form (`formOf`). */
const tenantOf = (db: Database, target: Target): QueryScope => ({
	db,
	kind: target.kind,
	key: keyParams,
	...idsOf(target, keyParams.user_id, targetParams),
});

/** A statement that can be cached. */
type Cacheable = Preparable<unknown> & Statement;

/** SQL for further values of a request, by name. */
export type Params<N extends string> = Record<N, SQL>;

function placeholders<N extends string>(names: readonly N[]): Params<N>;
function placeholders(names: readonly string[]) {
	return Object.fromEntries(names.map((name) => [name, placeholder(name)]));
}

/** A cached statement with the result `R`, which needs the values `N`. */
export type TenantStatement<R, N extends string> = {
	names: readonly N[];
	statement: (env: Env, target: Target) => CachedStatement<R>;
};

/**
 * Caches a statement of a family, for `tenant.cached`.
 * @param names the names of further values, besides those of the tenant
 * @param build builds the statement; the tenant and `params` contain only placeholders
 */
export function cacheStatement<S extends Cacheable, N extends string = never>(
	names: readonly N[],
	build: (tenant: QueryScope, params: Params<N>) => S,
): TenantStatement<S["_"]["result"], N> {
	const params = placeholders(names);
	const statement = cacheByForm(
		(db, target: Target) =>
			new CachedStatement<S["_"]["result"]>(build(tenantOf(db, target), params)),
	);
	return { names, statement };
}
