import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";

const encoder = new TextEncoder();

/**
 * The strong ETag of a body: 128 bits of its SHA-256. `?pretty` changes the bytes but not the
 * content: such an ETag has a suffix, which `tagsIn` removes.
 */
export async function tagOf(body: string | BufferSource, pretty = false) {
	const bytes = typeof body === "string" ? encoder.encode(body) : body;
	const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
	const name = digest.slice(0, 16).toBase64({ alphabet: "base64url", omitPadding: true });
	return `"${name}${pretty ? PRETTY : ""}"`;
}

const PRETTY = "-pretty";

/** The ETags in `If-Match`, without those of the weak form, which never match there. */
export const tagsIn = (header: string) =>
	header.trim() === "*"
		? ["*"]
		: Array.from(header.matchAll(/(W\/)?("[^"]*")/g), ([, weak, tag = ""]) =>
				weak ? [] : tag.replace(`${PRETTY}"`, '"'),
			).flat();

/** Whether `If-None-Match` has the ETag, in either form (RFC 9110, 13.1.2). */
export const hasTag = (header: string | undefined, tag: string) =>
	header !== undefined &&
	(header.trim() === "*" ||
		Array.from(header.matchAll(/"[^"]*"/g), ([found]) => found).includes(tag));

const hasContent = ({ status, headers }: Response) =>
	status === 200 && /^(application\/json|text\/javascript)/.test(headers.get("content-type") ?? "");

/**
 * Sends an `ETag` with the content of a GET below `/api`, or a 304 if the client has it already.
 * Other responses must not be stored (docs/api.md#caching-and-conditional-requests).
 */
export const caching = createMiddleware<App>(async (c, next) => {
	await next();
	// Hono's `c.header` would make a new response for each header.
	c.res.headers.set("Cache-Control", "no-store");
	c.res.headers.append("Vary", "Authorization, Tenantry-Version");
	if (!["GET", "HEAD"].includes(c.req.method) || !hasContent(c.res)) return;
	const compact = c.get("compact");
	const isPretty = compact !== undefined && c.req.query("pretty") !== undefined;
	const tag = await tagOf(compact?.bytes ?? (await c.res.clone().arrayBuffer()), isPretty);
	const isKnown = hasTag(c.req.header("if-none-match"), tag);
	if (isKnown) c.res = new Response(null, { status: 304, headers: c.res.headers });
	if (isKnown) c.res.headers.delete("content-type");
	c.res.headers.set("ETag", tag);
	c.res.headers.set("Cache-Control", "private, no-cache");
});
