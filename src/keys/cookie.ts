import type { Context } from "hono";
import type { App } from "../env.ts";
import { isRead } from "../http/methods.ts";
import { isLoopback } from "../http/origins.ts";

/*
 * The cookie of the console, whose value is that of a key (docs/keys.md#the-cookie). SameSite=Lax
 * alone isn't enough, because other ports and subdomains of the service's domain are the same site.
 */

/** Browsers keep Secure cookies of http only on https. So a server on http has another name. */
const isInsecure = (url: URL) => url.protocol === "http:" && isLoopback(url);

/** The name of a cookie, and whether it has the prefix, with which only this host can set it. */
export function nameOf(c: Context<App>, name = "tenantry") {
	const isPrefixed = !isInsecure(new URL(c.req.url));
	return { name: isPrefixed ? `__Host-${name}` : name, isPrefixed };
}

/**
 * Whether the request is from a page of this service, according to the headers that browsers set
 * and scripts can't change. Returns undefined if there are none: then it isn't from a page, or from
 * one in an old browser.
 */
export function isFromOwnPage(c: Context<App>): boolean | undefined {
	const site = c.req.header("sec-fetch-site");
	// `none`: the user has opened the URL, for example from the address bar.
	if (site !== undefined)
		return site === "same-origin" || (site === "none" && c.req.method === "GET");
	const origin = c.req.header("origin");
	if (origin === undefined) return undefined;
	// Behind a proxy, the origin in the URL can have another scheme.
	return [new URL(c.req.url).origin, URL.parse(c.env.APP_URL)?.origin].includes(origin);
}

/**
 * Returns the value of the key in the cookie. Returns undefined if there is none, if there are
 * several (one isn't from this service then), or if the request may be from another origin.
 */
export function inCookie(c: Context<App>): string | undefined {
	const header = c.req.header("cookie");
	if (header === undefined || !(isFromOwnPage(c) ?? isRead(c.req.method))) return undefined;
	const start = `${nameOf(c).name}=`;
	const pairs = header.split(";").map((pair) => pair.trim());
	const [pair, ...others] = pairs.filter((each) => each.startsWith(start));
	return others.length === 0 ? pair?.slice(start.length) : undefined;
}
