import { sql } from "drizzle-orm";
import type { SQLiteSelect } from "drizzle-orm/sqlite-core";
import type { Statement } from "../db/client.ts";
import { type List, paged, type RowOf } from "../db/list.ts";
import { orNotFound } from "../http/errors.ts";
import { type Envelope, envelope, type Key, type Page } from "../http/page.ts";
import { cacheStatement } from "./cached_statements.ts";
import type { QueryScope } from "./query_scope.ts";
import type { Tenant } from "./tenant.ts";

/** A statement whose first row has an id, if the parent exists. */
type Parent = Statement & { _: { result: { id: unknown }[] } };

type Listed<S extends SQLiteSelect, R> = List<S> & {
	/** Selects the object that the list belongs to. A list of the tenant itself has none. */
	parent?: Parent;
	/** Converts a row to a result. */
	to?: (row: RowOf<S>) => R;
};

/** Returns a page of a list, in one round trip. Throws 404 if its parent doesn't exist. */
export function readPage<S extends SQLiteSelect, R = RowOf<S>>(
	tenant: Tenant,
	page: Page,
	list: Listed<S, R>,
): Promise<Envelope<R>>;
export async function readPage<S extends SQLiteSelect>(
	tenant: Tenant,
	page: Page,
	{ parent, to, ...list }: Listed<S, unknown>,
): Promise<Envelope<unknown>> {
	const [rows, [counted], parents] = await tenant.read(
		...paged(tenant.db, { ...page, rows: page.limit + 1 }, list),
		...(parent ? [parent] : []),
	);
	if (parents) orNotFound(parents[0]?.id);
	return envelope(page, { rows, count: counted?.count ?? 0, keys: list.keys, to });
}

/**
 * Caches the statements for the first page of a list without filters, for `readCachedPage`.
 * @param list builds the list; the tenant contains only placeholders
 */
export function cacheList<S extends SQLiteSelect>(list: (tenant: QueryScope) => List<S>) {
	const start = { rows: sql.placeholder("rows"), offset: 0, after: undefined };
	const first = (tenant: QueryScope) => paged(tenant.db, start, list(tenant));
	const rows = cacheStatement(["rows"], (tenant) => first(tenant)[0]);
	const counted = cacheStatement([], (tenant) => first(tenant)[1]);
	return { list, rows, counted };
}

/** Returns a page of a list whose first page is cached. */
export async function readCachedPage<S extends SQLiteSelect>(
	tenant: Tenant,
	page: Page,
	{ list, rows, counted }: ReturnType<typeof cacheList<S>>,
) {
	if (page.after || page.offset > 0) return readPage(tenant, page, list(tenant));
	const [found, [total]] = await tenant.read(
		tenant.cached(rows, { rows: page.limit + 1 }),
		tenant.cached(counted, {}),
	);
	const { keys } = list(tenant);
	return envelope<RowOf<S>>(page, { rows: found, count: total?.count ?? 0, keys });
}

/** How many rows a download reads at a time. */
const DOWNLOAD_LIMIT = 500;

/**
 * Yields all rows of a list in pages, none of which is empty.
 * @param keys returns the sort values of a row
 */
export async function* readAll<R>(
	page: Page,
	list: (part: Page) => Promise<Envelope<R>>,
	keys: (row: R) => Key[],
): AsyncGenerator<R[]> {
	let after: Page["after"];
	while (true) {
		const part = await list({ ...page, limit: DOWNLOAD_LIMIT, offset: 0, after });
		const last = part.results.at(-1);
		if (!last) return;
		yield part.results;
		if (!part.next) return;
		after = { keys: keys(last), count: part.count };
	}
}
