import { fitting, type Page } from "./page.ts";

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
