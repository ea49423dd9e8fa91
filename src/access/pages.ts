import { sql } from "drizzle-orm";
import type { SQLiteSelect } from "drizzle-orm/sqlite-core";
import type { Statement } from "../db/client.ts";
import { firstPage, type List, paged, type RowOf } from "../db/list.ts";
import { orNotFound } from "../http/errors.ts";
import { type Envelope, envelope, type Page } from "../http/page.ts";
import { cacheStatement } from "./cached_statements.ts";
import type { TenantSql } from "./query_scope.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Returns a page of `select`, which `list` filters and sorts, in one round trip.
 * @param to converts a row to a result
 */
export function readPage<S extends SQLiteSelect, R = RowOf<S>>(
	tenant: Tenant,
	page: Page,
	select: () => S,
	list: List<S>,
	to?: (row: RowOf<S>) => R,
): Promise<Envelope<R>>;
export async function readPage<S extends SQLiteSelect>(
	tenant: Tenant,
	page: Page,
	select: () => S,
	list: List<S>,
	to?: (row: RowOf<S>) => unknown,
): Promise<Envelope<unknown>> {
	const [rows, [counted]] = await tenant.read(...paged(tenant.db, page, select, list));
	return envelope(page, rows, counted?.count ?? 0, list.keys, to);
}

/** A statement whose first row has an id, if the parent exists. */
type Parent = Statement & { _: { result: { id: unknown }[] } };

type ListIn<S extends SQLiteSelect, R> = List<S> & {
	select: () => S;
	/** Converts a row to a result. */
	to?: (row: RowOf<S>) => R;
};

/** Returns a page of what a parent has, in one round trip. Throws 404 if there is no such parent. */
export function readPageIn<S extends SQLiteSelect, R = RowOf<S>>(
	tenant: Tenant,
	page: Page,
	parent: Parent,
	list: ListIn<S, R>,
): Promise<Envelope<R>>;
export async function readPageIn<S extends SQLiteSelect>(
	tenant: Tenant,
	page: Page,
	parent: Parent,
	{ select, to, ...list }: ListIn<S, unknown>,
): Promise<Envelope<unknown>> {
	const [rows, [counted], [found]] = await tenant.read(
		...paged(tenant.db, page, select, list),
		parent,
	);
	orNotFound(found?.id);
	return envelope(page, rows, counted?.count ?? 0, list.keys, to);
}

/**
 * Caches the statements for the first page of a list without filters, for `readCachedPage`.
 * @param list builds the list; the tenant contains only placeholders
 */
export function cacheList<S extends SQLiteSelect>(
	select: (tenant: TenantSql) => S,
	list: (tenant: TenantSql) => List<S>,
) {
	const first = (tenant: TenantSql) =>
		firstPage(tenant.db, sql.placeholder("rows"), () => select(tenant), list(tenant));
	const rows = cacheStatement(["rows"], (tenant) => first(tenant)[0]);
	const counted = cacheStatement([], (tenant) => first(tenant)[1]);
	return { select, list, rows, counted };
}

/** Returns a page of a list whose first page is cached. */
export async function readCachedPage<S extends SQLiteSelect>(
	tenant: Tenant,
	page: Page,
	{ select, list, rows, counted }: ReturnType<typeof cacheList<S>>,
) {
	if (page.after || page.offset > 0)
		return readPage(tenant, page, () => select(tenant), list(tenant));
	const [found, [total]] = await tenant.read(
		tenant.cached(rows, { rows: page.limit + 1 }),
		tenant.cached(counted, {}),
	);
	return envelope<RowOf<S>>(page, found, total?.count ?? 0, list(tenant).keys);
}
