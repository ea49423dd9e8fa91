import * as z from "zod";
import { invalid } from "../../http/errors.ts";
import { name } from "../../http/fields.ts";
import { isLoopback } from "../../http/origins.ts";
import { allowsPrivate } from "../../outbound/dns/reach.ts";
import { reason } from "../../outbound/reason.ts";
import { sender } from "../../outbound/send.ts";
import { issuerOf, type Service } from "./issuer.ts";
import { DEVICE_GRANT } from "./tokens.ts";

/*
 * Apps that publish a document about themselves at the URL that is their client id
 * (draft-ietf-oauth-client-id-metadata-document). Nobody has to register them.
 */

/** An app that asks for access. */
export type Client = {
	client_id: string;
	name: string;
	/** The host whose owner is responsible for the app. */
	host: string;
	redirect_uris: string[];
	/** How the app gets tokens. */
	grant_types: string[];
};

/** How long an app's host may take to respond. */
const TIMEOUT_MS = 5_000;

/** The largest document that is accepted (section 8.7 recommends half of it). */
const MAX_CHARACTERS = 10_000;

/** How long a document is cached. */
const MAX_AGE_SECONDS = 300;

/** The longest name of an app that is shown. */
const MAX_NAME_CHARACTERS = 40;

/** Custom schemes that a program can have (RFC 8252, section 7.1): a domain in reverse. */
const OF_PROGRAM = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:$/;

/** Whether the person's browser may be sent to the URI: never, for example, to `javascript:`. */
function isRedirectUri(text: string) {
	const url = URL.parse(text);
	if (!url || text.includes("#") || url.username || url.password) return false;
	if (url.protocol === "https:") return true;
	return url.protocol === "http:" ? isLoopback(url) : OF_PROGRAM.test(url.protocol);
}

const Document = z.object({
	client_id: z.string(),
	client_name: name(100).optional(),
	redirect_uris: z.array(z.string().max(2_000).refine(isRedirectUri)).min(1).max(50),
	token_endpoint_auth_method: z.literal("none").optional(),
	grant_types: z.array(z.string().max(100)).max(20).default(["authorization_code"]),
});

/** The command line (packages/cli), which is part of the service. */
const COMMAND_LINE = {
	client_id: "tenantry-cli",
	name: "Tenantry command line",
	redirect_uris: ["http://127.0.0.1/callback"],
	grant_types: ["authorization_code", DEVICE_GRANT],
};

/** @param why without quotation marks */
const badClient = (why: string) => invalid("client_id", `The app can't be identified: ${why}`);

/** Returns the URL of an app's document (section 3). Throws 400 if it isn't one. */
function urlOf(env: Env, client_id: string) {
	const url = URL.parse(client_id);
	if (url?.href !== client_id) throw badClient("its client_id is not a complete URL.");
	const isSecure = url.protocol === "https:" || (url.protocol === "http:" && allowsPrivate(env));
	if (!isSecure || url.pathname === "/" || url.hash || url.username || url.password)
		throw badClient("its client_id must be an https URL with a path.");
	return url;
}

async function fetchText(env: Env, url: URL) {
	const request = new Request(url, { headers: { accept: "application/json" } });
	const { status, text } = await sender(env, TIMEOUT_MS)
		.exchange(request, [])
		.catch((error) => {
			throw badClient(reason(error));
		});
	if (status !== 200) throw badClient(`${url.host} answered ${status}.`);
	if (text.length > MAX_CHARACTERS) throw badClient("its document is too large.");
	return text;
}

/** Returns the JSON of a text; undefined if it isn't JSON. */
function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/**
 * Returns the app with this client id. A document about it is fetched from its host, or was in the last
 * minutes.
 * @throws 400 if it can't be fetched, or isn't a document about this app
 */
export async function findClient(service: Service, client_id: string): Promise<Client> {
	const { env } = service;
	if (client_id === COMMAND_LINE.client_id)
		return { ...COMMAND_LINE, host: new URL(issuerOf(service)).host };
	const url = urlOf(env, client_id);
	const cache = await caches.open("oauth_clients");
	const cached = await cache.match(client_id);
	const text = cached ? await cached.text() : await fetchText(env, url);
	const { data } = Document.safeParse(parse(text));
	if (!data) throw badClient("its document is invalid, or the app needs a secret.");
	if (data.client_id !== client_id) throw badClient("its document is about another app.");
	if (!cached) {
		const headers = { "cache-control": `max-age=${MAX_AGE_SECONDS}` };
		await cache.put(client_id, new Response(text, { headers }));
	}
	const shown = (data.client_name ?? url.host).slice(0, MAX_NAME_CHARACTERS);
	const { redirect_uris, grant_types } = data;
	return { client_id, name: shown, host: url.host, redirect_uris, grant_types };
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
