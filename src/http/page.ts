import type { Context } from "hono";
import * as z from "zod";
import type { App } from "../env.ts";

/** Where in a list the caller is (docs/api.md#pages). */
export type Page = {
	limit: number;
	offset: number;
	/** The total, and the order values of the row before this page, from the `cursor` of the page before. */
	after: { count: number; keys: Key[] } | undefined;
	url: URL;
};

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

const Cursor = z.tuple([
	z.int().min(0),
	z.int().min(0),
	z.array(z.union([z.string(), z.number()])),
]);

const write = (cursor: z.infer<typeof Cursor>) =>
	new TextEncoder()
		.encode(JSON.stringify(cursor))
		.toBase64({ alphabet: "base64url", omitPadding: true });

/** What `write` wrote; undefined for anything else, or when made for another place. */
function read(cursor: string | undefined, offset: number): Page["after"] {
	try {
		const bytes = Uint8Array.fromBase64(cursor ?? "", {
			alphabet: "base64url",
		});
		const [place, count, keys] = Cursor.parse(JSON.parse(new TextDecoder().decode(bytes)));
		return place === offset ? { count, keys } : undefined;
	} catch {
		return undefined;
	}
}

/** The page that the request asks for; what can't be read falls back to the first hundred. */
export function page(c: Context<App>): Page {
	const offset = Math.min(positiveOr(c.req.query("offset"), 0), Number.MAX_SAFE_INTEGER);
	return {
		limit: Math.min(positiveOr(c.req.query("limit"), 100), 1000),
		offset,
		after: read(c.req.query("cursor"), offset),
		url: new URL(c.req.url),
	};
}

function link({ url, limit }: Page, offset: number, cursor?: string) {
	const there = new URL(url);
	there.searchParams.delete("cursor");
	there.searchParams.delete("offset");
	there.searchParams.set("limit", String(limit));
	if (offset > 0) there.searchParams.set("offset", String(offset));
	if (cursor) there.searchParams.set("cursor", cursor);
	return there.href;
}

/**
 * @param rows those of the page and, where the list goes on, one more
 * @param keys the order values of a row
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

/** The same page of other things. */
export const mapResults = <A, B>(page: Envelope<A>, to: (row: A) => B): Envelope<B> => ({
	...page,
	results: page.results.map((row) => to(row)),
});
