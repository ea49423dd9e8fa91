import type { Context } from "hono";
import * as z from "zod";
import type { App } from "../env.ts";
import { bytesIn, fromBase64url, toBase64url } from "../lib/bytes.ts";
import { lazy } from "../lib/lazy.ts";

/** The requested page of a list (docs/api.md#pages). */
export type Page = {
	limit: number;
	offset: number;
	/** The total, and the previous page's last sort values, if there is a `cursor`. */
	after: { count: number; keys: Key[] } | undefined;
	/** The offsets of earlier pages, from the `cursor`, if these weren't full. */
	starts?: number[] | undefined;
	/** The URL of the request. */
	url: string;
};

/** The query parameters of pages and feeds (docs/api.md#pages). */
export const paging = lazy(() =>
	z.object({
		limit: z
			.int()
			.min(1)
			.max(1000)
			.meta({ default: 100 })
			.optional()
			.describe("The maximum number of results in a page."),
		offset: z
			.int()
			.min(0)
			.meta({ default: 0 })
			.optional()
			.describe("The index of the first result."),
		cursor: z
			.string()
			.optional()
			.describe("Where the page starts. Part of the link `next`; don't set it yourself."),
	}),
);

/** A sort value in a cursor. */
export type Key = string | number;

/** The envelope of a page (docs/api.md#pages). */
export type Envelope<T> = {
	count: number;
	next: string | null;
	previous: string | null;
	results: T[];
};

const positiveOr = (text: string | undefined, otherwise: number) =>
	Number(/^\d+$/.test(text?.trim() ?? "") ? text : 0) || otherwise;

/** How many offsets of earlier pages a cursor has. Pages before them count as full. */
const MAX_STARTS = 100;

const cursorShape = lazy(() =>
	z.tuple([
		z.int().min(0),
		z.int().min(0),
		z.array(z.union([z.string(), z.number()])),
		z.array(z.int().min(0)).optional(),
	]),
);

const encoder = new TextEncoder();

/** Returns a cursor for the page that starts at an offset. */
function write(start: number, count: number, keys: Key[], starts: number[]) {
	const cursor: z.infer<ReturnType<typeof cursorShape>> = [start, count, keys];
	if (starts.length > 0) cursor.push(starts);
	return toBase64url(encoder.encode(JSON.stringify(cursor)));
}

/** Returns a cursor's content and offset; undefined if it is malformed. */
function read(cursor: string | undefined) {
	if (cursor === undefined) return undefined;
	try {
		const json = new TextDecoder().decode(fromBase64url(cursor));
		const [start, count, keys, starts] = cursorShape().parse(JSON.parse(json));
		return { start, after: keys.length > 0 ? { count, keys } : undefined, starts };
	} catch {
		return undefined;
	}
}

/**
 * Returns the requested page. Missing and invalid parameters get their defaults. A cursor is
 * ignored at another offset than its own, which is the default.
 */
export function page(c: Context<App>): Page {
	const query = c.req.query();
	const { limit } = query;
	const cursor = read(query.cursor);
	const wanted = query.offset?.trim() ? positiveOr(query.offset, 0) : (cursor?.start ?? 0);
	const offset = Math.min(wanted, Number.MAX_SAFE_INTEGER);
	return {
		limit: Math.min(positiveOr(limit, 100), 1000),
		offset,
		...(cursor?.start === offset ? cursor : { after: undefined }),
		url: c.req.url,
	};
}

function link({ url, limit }: Page, offset: number, cursor?: string) {
	const target = new URL(url);
	target.searchParams.delete("cursor");
	target.searchParams.delete("offset");
	target.searchParams.set("limit", String(limit));
	if (offset > 0) target.searchParams.set("offset", String(offset));
	if (cursor) target.searchParams.set("cursor", cursor);
	return target.href;
}

/** The maximum size of a page as JSON, in bytes. A larger result has its own page. */
export const MAX_PAGE_BYTES = 4 * 2 ** 20;

/**
 * Returns an upper bound of the size of a value as JSON in bytes, which takes less time than the
 * JSON: a character needs at most six bytes, and other values and punctuation fewer than 40.
 */
function roughSize(value: unknown): number {
	if (typeof value === "string") return 6 * value.length + 40;
	if (typeof value !== "object" || value === null) return 40;
	let size = 40;
	for (const key of Object.keys(value)) size += 6 * key.length;
	for (const inner of Object.values(value)) size += roughSize(inner);
	return size;
}

/**
 * Returns how many of the first results fit into a page: as many as have `MAX_PAGE_BYTES`, but at
 * least one.
 * @param rows the rows of the results. Their sizes count too, because the query counts them
 * (`db/large.ts`)
 */
export function fitting(results: unknown[], rows = results) {
	const lists = [...new Set([results, rows])];
	if (lists.every((list) => roughSize(list) <= MAX_PAGE_BYTES)) return results.length;
	let bytes = 0;
	const end = results.findIndex((_, at) => {
		bytes += Math.max(...lists.map((list) => bytesIn([list[at]])));
		return at > 0 && bytes > MAX_PAGE_BYTES;
	});
	return end < 0 ? results.length : end;
}

/** Returns the links of a page of `length` results. `keys`: the last one's sort values. */
function links(page: Page, length: number, count: number, keys: Key[] | undefined) {
	const { offset, limit, starts = [] } = page;
	const end = offset + length;
	const isRegular = starts.length === 0 && length === limit;
	const passed = isRegular ? [] : [...starts, offset].slice(-MAX_STARTS);
	const before = starts.at(-1) ?? Math.max(0, offset - limit);
	const earlier = starts.slice(0, -1);
	const cursor = earlier.length > 0 ? write(before, 0, [], earlier) : undefined;
	return {
		next: keys ? link(page, end, write(end, count, keys, passed)) : null,
		previous: offset > 0 ? link(page, before, cursor) : null,
	};
}

/** The rows of a page, and how they become its results. */
type Found<T, R> = {
	/** The rows of the page, and one more if there is a next page. */
	rows: T[];
	/** How many results all pages have. */
	count: number;
	/** Returns the sort values of a row, for the cursor. */
	keys: (row: T) => Key[];
	/** Converts a row to a result. */
	to?: ((row: T) => R) | undefined;
	/** Where the list continues if the page has all `rows`, as sort values, and there may be more. */
	further?: Key[] | undefined;
};

/** Returns the response for a page. It ends at `limit` results, or at `MAX_PAGE_BYTES`. */
export function envelope<T, R = T>(page: Page, found: Found<T, R>): Envelope<R>;
export function envelope<T>(
	page: Page,
	{ rows, count, keys, to, further }: Found<T, unknown>,
): Envelope<unknown> {
	const shown = rows.slice(0, page.limit);
	const results = to ? shown.map(to) : shown;
	const length = fitting(results, shown);
	const last = shown[length - 1];
	const hasNext = last !== undefined && rows.length > length;
	return {
		count,
		...links(page, length, count, hasNext ? keys(last) : further),
		results: results.slice(0, length),
	};
}

/** Returns the page with each result converted by `to`. */
export const mapResults = <A, B>(page: Envelope<A>, to: (row: A) => B): Envelope<B> => ({
	...page,
	results: page.results.map((row) => to(row)),
});

/** A page of a feed (docs/events.md#follow-the-feed). */
export type FeedPage<T> = { results: T[]; next: string | null; after: string | null };

/**
 * Returns the response for a page of a feed.
 * @param after the id after which the next page starts; null if there is none
 * @param more whether there may be more results now
 */
export function feedPage<T extends { id: string }>(
	{ url, limit }: Page,
	results: T[],
	{ after, more }: { after: string | null; more: boolean },
): FeedPage<T> {
	const shown = results.slice(0, fitting(results));
	const isCut = shown.length < results.length;
	const last = isCut ? (shown.at(-1)?.id ?? after) : after;
	const next = new URL(url);
	next.searchParams.set("after", last ?? "");
	next.searchParams.set("limit", String(limit));
	return { results: shown, next: more || isCut ? next.href : null, after: last };
}
