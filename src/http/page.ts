import type { Context } from "hono";
import * as z from "zod";
import type { App } from "../env.ts";
import { fromBase64url, toBase64url } from "./base64url.ts";
import { lazy } from "./lazy.ts";

/** The requested page of a list (docs/api.md#pages). */
export type Page = {
	limit: number;
	offset: number;
	/**
	 * The content of the `cursor`: the total, and the sort values of the last row of the previous
	 * page. Undefined without a cursor.
	 */
	after: { count: number; keys: Key[] } | undefined;
	/** The URL of the request. */
	url: string;
};

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

const cursorShape = lazy(() =>
	z.tuple([z.int().min(0), z.int().min(0), z.array(z.union([z.string(), z.number()]))]),
);

const encoder = new TextEncoder();

const write = (cursor: z.infer<ReturnType<typeof cursorShape>>) =>
	toBase64url(encoder.encode(JSON.stringify(cursor)));

/** Returns the content of a cursor, with the offset that it was created for; undefined if it is malformed. */
function read(cursor: string | undefined) {
	if (cursor === undefined) return undefined;
	try {
		const json = new TextDecoder().decode(fromBase64url(cursor));
		const [start, count, keys] = cursorShape().parse(JSON.parse(json));
		return { start, after: { count, keys } };
	} catch {
		return undefined;
	}
}

/**
 * Returns the requested page. Missing and invalid parameters get their defaults. A cursor is ignored at another offset than its
 * own, which is the default.
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
		after: cursor?.start === offset ? cursor.after : undefined,
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

/**
 * Returns the response for a page.
 * @param rows the rows of the page, and one more if there is a next page
 * @param keys returns the sort values of a row, for the cursor
 */
export function envelope<T>(
	page: Page,
	rows: T[],
	count: number,
	keys: (row: T) => Key[],
): Envelope<T> {
	const results = rows.slice(0, page.limit);
	const last = results.at(-1);
	const end = page.offset + page.limit;
	return {
		count,
		next:
			last && rows.length > page.limit ? link(page, end, write([end, count, keys(last)])) : null,
		previous: page.offset > 0 ? link(page, Math.max(0, page.offset - page.limit)) : null,
		results,
	};
}

/** A page of a feed (docs/events.md#follow-the-feed). */
export type FeedPage<T> = { results: T[]; next: string | null; after: string | null };

/**
 * Returns the response for a page of a feed.
 * @param after the id after which the next page starts; null if there is none
 * @param more whether there may be more results now
 */
export function feedPage<T>(
	{ url, limit }: Page,
	results: T[],
	{ after, more }: { after: string | null; more: boolean },
): FeedPage<T> {
	const next = new URL(url);
	next.searchParams.set("after", after ?? "");
	next.searchParams.set("limit", String(limit));
	return { results, next: more ? next.href : null, after };
}

/** Returns the page with each result converted by `to`. */
export const mapResults = <A, B>(page: Envelope<A>, to: (row: A) => B): Envelope<B> => ({
	...page,
	results: page.results.map((row) => to(row)),
});
