import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";
import { toBase64url } from "../lib/bytes.ts";
import { PRETTY } from "./json.ts";
import { isRead } from "./methods.ts";

const encoder = new TextEncoder();

/**
 * Returns the strong ETag of a body: 128 bits of its SHA-256. `?pretty` changes the bytes but not
 * the content, so its ETags have a suffix, which `tagsIn` removes.
 */
export async function tagOf(body: string | BufferSource, pretty = false) {
	const bytes = typeof body === "string" ? encoder.encode(body) : body;
	const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
	const name = toBase64url(digest.slice(0, 16));
	return `"${name}${pretty ? PRETTY_SUFFIX : ""}"`;
}

const PRETTY_SUFFIX = "-pretty";

/** Returns the ETags in a header. Weak ones count as strong: proxies that compress make them. */
const listed = (header: string) =>
	header.trim() === "*" ? ["*"] : Array.from(header.matchAll(/"[^"]*"/g), ([tag]) => tag);

/** Returns the ETags in `If-Match` or `If-None-Match`, without the suffix for `?pretty`. */
export const tagsIn = (header: string) =>
	listed(header).map((tag) => tag.replace(`${PRETTY_SUFFIX}"`, '"'));

/** Whether `If-None-Match` has an ETag. */
export const isKnown = (header: string, tag: string) =>
	listed(header).some((known) => known === "*" || known === tag);

const hasContent = ({ status, headers }: Response) =>
	status === 200 && /^(application\/json|text\/javascript)/.test(headers.get("content-type") ?? "");

/**
 * Adds an `ETag` to responses with content to a GET under `/api`, or returns 304 if the client has
 * the content already, except to files, which have one. Other responses must not be stored
 * (docs/api.md#caching-and-conditional-requests).
 */
export const caching = createMiddleware<App>(async (c, next) => {
	await next();
	// Hono's `c.header` would create a new response for each header.
	c.res.headers.set("Cache-Control", "no-store");
	c.res.headers.append("Vary", "Authorization, Cookie, Tenantry-Version");
	if (c.res.headers.has("ETag")) {
		// A file (file.ts). A proxy that compressed it would change the bytes of its digest.
		c.res.headers.set("Cache-Control", "private, no-cache, no-transform");
		return;
	}
	if (!isRead(c.req.method) || !hasContent(c.res)) return;
	const compact = c.get("compact");
	const isPretty = compact !== undefined && c.req.query(PRETTY) !== undefined;
	const tag = await tagOf(compact?.bytes ?? (await c.res.clone().arrayBuffer()), isPretty);
	if (isKnown(c.req.header("if-none-match") ?? "", tag)) {
		c.res = new Response(null, { status: 304, headers: c.res.headers });
		c.res.headers.delete("content-type");
	}
	c.res.headers.set("ETag", tag);
	c.res.headers.set("Cache-Control", "private, no-cache");
});
