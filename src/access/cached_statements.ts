import { type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { SQLiteSelect } from "drizzle-orm/sqlite-core";
import {
	CachedStatement,
	cacheByForm,
	type Preparable,
	placeholder,
} from "../db/cached_statements.ts";
import type { Database } from "../db/client.ts";
import { firstPage, type List, type RowOf } from "../db/list.ts";
import { guard } from "./guard.ts";
import { isOrganizationOf, organizationOf, type PathForm, projectOf } from "./place.ts";
import type { TenantSql } from "./sql.ts";

/** The values for the placeholders in a tenant's cached statements. */
export type TenantValues = {
	hash: string;
	key_id: string;
	user_id: number;
	/** The ids in the path or, after `read`, those that the guard found; null if there are none. */
	organization: string | number | null;
	project: number | null;
};

/** Returns a placeholder for one of them. */
const own = <N extends keyof TenantValues>(name: N) =>
	placeholder<NonNullable<TenantValues[N]>>(name);

/** Placeholders for the values from the path. */
const PATH = {
	user_id: own("user_id"),
	organization: own("organization"),
	project: own("project"),
};

/** Returns the guard's statement for a path. */
export const cachedGuard = cacheByForm(
	(db, form: PathForm) =>
		new CachedStatement(
			guard(db, {
				hash: own("hash"),
				isOrganization: isOrganizationOf(form, PATH),
				project: projectOf(form, PATH),
			}),
		),
);

/** Everything that the SQL of a tenant depends on: the path, and whether the key is restricted. */
type TenantForm = PathForm & { organizations: boolean; projects: boolean };

/** Returns a tenant of this form, with placeholders instead of values. */
const tenantOf = (db: Database, { organizations, projects, ...form }: TenantForm): TenantSql => ({
	db,
	kind: form.kind,
	organization: organizationOf(form, PATH),
	project: projectOf(form, PATH),
	key: { id: own("key_id"), user_id: PATH.user_id },
	restricted: { organizations, projects },
});

/** A statement that can be cached. */
export type Cacheable = Preparable<unknown> & BatchItem<"sqlite">;

/** A value that D1 accepts. */
export type Value = string | number | null;

/** SQL for further values of a request, by name. */
export type Given<N extends string> = Record<N, SQL>;

/** Returns SQL for each name. */
export function givenFrom<N extends string>(names: readonly N[], term: (name: N) => SQL): Given<N>;
export function givenFrom(names: readonly string[], term: (name: string) => SQL) {
	return Object.fromEntries(names.map((name) => [name, term(name)]));
}

/**
 * Caches a statement of a family.
 * @param names the names of further values, besides those of the tenant
 * @param build builds the statement; the tenant and `given` contain only placeholders
 */
export function cacheStatement<S extends Cacheable, N extends string = never>(
	names: readonly N[],
	build: (tenant: TenantSql, given: Given<N>) => S,
) {
	const given = givenFrom(names, placeholder);
	const statement = cacheByForm(
		(db, form: TenantForm) =>
			new CachedStatement<S["_"]["result"]>(build(tenantOf(db, form), given)),
	);
	return { names, build, statement };
}

/** A cached statement. */
export type TenantStatement<S extends Cacheable, N extends string> = ReturnType<
	typeof cacheStatement<S, N>
>;

/**
 * Caches the statements for the first page of a list without filters.
 * @param list builds the list; the tenant contains only placeholders
 */
export function cacheList<S extends SQLiteSelect>(
	select: (tenant: TenantSql) => S,
	list: (tenant: TenantSql) => List<S>,
) {
	const statements = cacheByForm((db, form: TenantForm) => {
		const tenant = tenantOf(db, form);
		const parts = list(tenant);
		const [rows, counted] = firstPage(db, sql.placeholder("rows"), () => select(tenant), parts);
		return {
			rows: new CachedStatement<RowOf<S>[]>(rows),
			counted: new CachedStatement(counted),
			keys: parts.keys,
		};
	});
	return { select, list, statements };
}

/** A list whose first page is cached. */
export type TenantList<S extends SQLiteSelect> = ReturnType<typeof cacheList<S>>;
