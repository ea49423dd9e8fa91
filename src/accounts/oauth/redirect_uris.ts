import { isLoopback } from "../../http/origins.ts";

/** Custom schemes that a program can have (RFC 8252, section 7.1): a domain in reverse. */
const OF_PROGRAM = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:$/;

/** How many redirect URIs an app can have, and how long they can be. */
export const MAX_REDIRECT_URIS = 50;
export const MAX_URI_CHARACTERS = 2_000;

/** Whether the person's browser may be sent to the URI: never, for example, to `javascript:`. */
export function isRedirectUri(text: string) {
	const url = URL.parse(text);
	if (!url || text.includes("#") || url.username || url.password) return false;
	if (url.protocol === "https:") return true;
	return url.protocol === "http:" ? isLoopback(url) : OF_PROGRAM.test(url.protocol);
}

/**
 * Whether the URIs are the same. Only the port of a program on the person's computer may differ,
 * because the program doesn't know it before it starts (RFC 8252, section 7.3).
 */
export function isSameRedirect(registered: string, given: string) {
	if (registered === given) return true;
	const [a, b] = [URL.parse(registered), URL.parse(given)];
	if (!a || !b || !isRedirectUri(given) || !isLoopback(a)) return false;
	a.port = b.port;
	return a.protocol === "http:" && a.href === b.href;
}
