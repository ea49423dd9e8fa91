import { type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { SQLiteSelect } from "drizzle-orm/sqlite-core";
import type { Database } from "../db/client.ts";
import { Kept, keepByForm, type Preparable, placeholder } from "../db/kept.ts";
import { firstPage, type List, type RowOf } from "../db/list.ts";
import { guard } from "./guard.ts";
import { organizationOf, type PathForm, projectOf } from "./place.ts";
import type { TenantSql } from "./sql.ts";

/** The values that a tenant's kept statements have placeholders for. */
export type TenantValues = {
	hash: string;
	key_id: string;
	user_id: number;
	/** The ids that the path names; null if it has none. */
	organization: string | null;
	project: number | null;
};

/** A placeholder for one of them. */
const own = <N extends keyof TenantValues>(name: N) =>
	placeholder<NonNullable<TenantValues[N]>>(name);

/** Placeholders for what a path names. */
const PATH = {
	user_id: own("user_id"),
	organization: own("organization"),
	project: own("project"),
};

/** The guard's statement of a path. */
export const keptGuard = keepByForm(
	(db, form: PathForm) =>
		new Kept(
			guard(db, {
				hash: own("hash"),
				organization: organizationOf(form, PATH),
				project: projectOf(form, PATH),
			}),
		),
);

/** What the SQL of a tenant depends on: the path, and whether the key is restricted. */
type TenantForm = PathForm & { organizations: boolean; projects: boolean };

/** A tenant of the form, with placeholders in place of values. */
const tenantOf = (db: Database, { organizations, projects, ...form }: TenantForm): TenantSql => ({
	db,
	kind: form.kind,
	organization: organizationOf(form, PATH),
	project: projectOf(form, PATH),
	key: { id: own("key_id"), user_id: PATH.user_id },
	restricted: { organizations, projects },
});

/** A statement that can be kept. */
export type Keepable = Preparable<unknown> & BatchItem<"sqlite">;

/** A value as D1 takes it. */
export type Value = string | number | null;

/** SQL for further values of a request, by their names. */
export type Given<N extends string> = Record<N, SQL>;

/** SQL for each name. */
export function givenFrom<N extends string>(names: readonly N[], term: (name: N) => SQL): Given<N>;
export function givenFrom(names: readonly string[], term: (name: string) => SQL) {
	return Object.fromEntries(names.map((name) => [name, term(name)]));
}

/**
 * Keeps a statement of a family.
 * @param names of the values that it needs besides those of the tenant
 * @param build makes the statement of a tenant, which has nothing but placeholders, like `given`
 */
export function keep<S extends Keepable, N extends string = never>(
	names: readonly N[],
	build: (tenant: TenantSql, given: Given<N>) => S,
) {
	const given = givenFrom(names, placeholder);
	const statement = keepByForm(
		(db, form: TenantForm) => new Kept<S["_"]["result"]>(build(tenantOf(db, form), given)),
	);
	return { names, build, statement };
}

/** A statement that is kept. */
export type KeptStatement<S extends Keepable, N extends string> = ReturnType<typeof keep<S, N>>;

/**
 * Keeps the statements of the first page of a list that has no filter.
 * @param list makes the list of a tenant, which has nothing but placeholders
 */
export function keepList<S extends SQLiteSelect>(
	select: (tenant: TenantSql) => S,
	list: (tenant: TenantSql) => List<S>,
) {
	const statements = keepByForm((db, form: TenantForm) => {
		const tenant = tenantOf(db, form);
		const parts = list(tenant);
		const [rows, counted] = firstPage(db, sql.placeholder("rows"), () => select(tenant), parts);
		return { rows: new Kept<RowOf<S>[]>(rows), counted: new Kept(counted), keys: parts.keys };
	});
	return { select, list, statements };
}

/** A list whose first page is kept. */
export type KeptList<S extends SQLiteSelect> = ReturnType<typeof keepList<S>>;
