import { sql } from "drizzle-orm";
import type { SQLiteSelect } from "drizzle-orm/sqlite-core";
import type { Database } from "../db/client.ts";
import { Kept, keepByForm } from "../db/kept.ts";
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

/** A placeholder, as SQL. */
const placeholder = <N extends keyof TenantValues>(name: N) =>
	sql<NonNullable<TenantValues[N]>>`${sql.placeholder(name)}`;

/** Placeholders for what a path names. */
const PATH = {
	user_id: placeholder("user_id"),
	organization: placeholder("organization"),
	project: placeholder("project"),
};

/** The guard's statement of a path. */
export const keptGuard = keepByForm(
	(db, form: PathForm) =>
		new Kept(
			guard(db, {
				hash: placeholder("hash"),
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
	key: { id: placeholder("key_id"), user_id: PATH.user_id },
	restricted: { organizations, projects },
});

/**
 * Keeps a select.
 * @param select makes the select of a tenant, which has nothing but placeholders
 */
export const keepSelect = <S extends SQLiteSelect>(select: (tenant: TenantSql) => S) => ({
	select,
	statement: keepByForm(
		(db, form: TenantForm) => new Kept<S["_"]["result"]>(select(tenantOf(db, form))),
	),
});

/** A select that is kept. */
export type KeptSelect<S extends SQLiteSelect> = ReturnType<typeof keepSelect<S>>;

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
