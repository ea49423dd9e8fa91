import { env } from "cloudflare:workers";
import { eq, inArray } from "drizzle-orm";
import { v7 } from "uuid";
import { expect } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/people.ts";
import { signIns } from "../../../src/db/schema/sign_in.ts";
import {
	ada,
	after,
	type Changes,
	ISSUER,
	PERSISTENT,
	signedBy,
} from "../../isolates/saml/responses.ts";
import type { Signing } from "../../support/saml.ts";
import { call, db, world } from "../../support/world.ts";

async function send(path: string, body?: unknown) {
	const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
	const response = await fetch(`${env.SAML_PROVIDER_URL}${path}`, init);
	const text = await response.text();
	if (!response.ok) throw new Error(text);
	return text;
}

/** Returns the certificate of one of the provider's pairs of keys. */
export const certificateOf = (pair: string) => send(`/certificate/${pair}`);

const sign = (signing: Signing) => send("/sign", signing);

type Row = Partial<typeof domains.$inferInsert>;

/** Creates an organization with a verified domain that a SAML provider signs in. */
export async function connected(row: Row = {}) {
	const home = await world();
	const id = v7();
	const domain = `${id}.example.com`;
	await db.insert(domains).values({
		id,
		organization_id: home.organization_id,
		domain,
		verification_challenge: v7(),
		verified_at: after(0),
		jit_provisioning_enabled: true,
		saml_entity_id: ISSUER,
		saml_acs_url: "https://provider.test/sso?tenant=7",
		saml_x509_cert: await certificateOf("one"),
		...row,
	});
	const base = `${env.APP_URL}/sso/saml/${id}`;
	return { ...home, id, domain, entity_id: `${base}/metadata`, acs_url: `${base}/acs` };
}

export type Connected = Awaited<ReturnType<typeof connected>>;

type Options = { env?: Partial<Env>; headers?: Record<string, string> };

export const getPage = (path: string, { headers, ...options }: Options = {}) =>
	call("GET", path, { headers: { "cf-connecting-ip": v7(), ...headers }, ...options });

/** The cookie that a response sets. */
export const cookieIn = ({ headers }: { headers: Headers }) =>
	headers.get("set-cookie")?.split(";")[0] ?? "";

/** Starts a sign-in. Returns its cookie, the URL at the provider, and the id of the request. */
export async function start({ id }: Connected, query = "", headers: Record<string, string> = {}) {
	const response = await getPage(`/sso/saml/${id}/start${query}`, { headers });
	const url = new URL(response.headers.get("location") ?? "");
	const request = Buffer.from(url.searchParams.get("SAMLRequest") ?? "", "base64");
	const xml = await new Response(
		new Blob([request]).stream().pipeThrough(new DecompressionStream("deflate-raw")),
	).text();
	const [, requestId = ""] = /<samlp:AuthnRequest [^>]*\bID="([^"]+)"/.exec(xml) ?? [];
	return { response, url, xml, cookie: cookieIn(response), request: requestId };
}

/** Posts a response as a page of the provider does: without cookies. */
export const post = (
	{ id }: { id: string },
	xml: string,
	{ relayState, ...options }: Options & { relayState?: string } = {},
) =>
	call("POST", `/sso/saml/${id}/acs`, {
		...options,
		raw: new URLSearchParams({
			SAMLResponse: Buffer.from(xml).toString("base64"),
			...(relayState && { RelayState: relayState }),
		}).toString(),
		headers: {
			"cf-connecting-ip": v7(),
			"content-type": "application/x-www-form-urlencoded",
			origin: "https://provider.test",
			"sec-fetch-site": "cross-site",
			...options.headers,
		},
	});

/** Returns the signed response to a request. */
export const signed = (home: Connected, request: string, changes: Changes = {}) =>
	signedBy(sign, home, request, changes);

/** Signs in: starts, gets the provider's response, and follows it with the cookie. */
export async function signIn(home: Connected, changes: Changes = {}) {
	const { cookie, request } = await start(home);
	const posted = await post(home, await signed(home, request, changes));
	return follow(posted, cookie);
}

/** Follows the response to a POST to the end of the sign-in. */
export async function follow(posted: { headers: Headers }, cookie: string) {
	const location = posted.headers.get("location") ?? "";
	if (!location.startsWith("/sso/finish")) return location;
	const finished = await getPage(location, { headers: { cookie } });
	return finished.headers.get("location") ?? "";
}

/** Where a sign-in leads that isn't possible. */
export const problem = (code: string) => `/console/sign_in#problem=${code}`;

export const succeeds = /^\/console\/sign_in#token=[\w-]{43}$/;

/** Returns the newest failed sign-in in the activity log. */
export async function newestFailure({ here }: Connected) {
	const { body } = await here("GET", "/activity_log?scope=SignIn");
	return body.results[0]?.detail?.trigger ?? body.results[0];
}

/** The links for those whom a domain's provider signed in. */
export const linksOf = ({ id }: Connected) =>
	db
		.select()
		.from(signIns)
		.where(eq(signIns.connection, `saml:${id}`));

/** A response is rejected, nothing is created, and the admins find out why. */
export async function expectRejected(changes: Changes, why: string, code = "invalid_response") {
	const home = await connected();
	expect(await signIn(home, changes)).toBe(problem(code));
	const addresses = ["ada", "eve"].map((name) => `${name}@${home.domain}`);
	expect(await db.select().from(users).where(inArray(users.email, addresses))).toEqual([]);
	expect(await linksOf(home)).toEqual([]);
	expect(await newestFailure(home)).toMatchObject({ code, detail: expect.stringContaining(why) });
}

/** Returns the value of a form's field. */
const fieldIn = (page: string, name: string) =>
	new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? "";

/** The URL at samlp for requests, with what it says of whom. */
const samlpUrl = (user: object, options: object, by: string) =>
	`${env.SAML_PROVIDER_URL}/sso/${Buffer.from(JSON.stringify({ user, options, by })).toString("base64url")}`;

type AtSamlp = {
	email?: string;
	/** The name of the pair of keys that signs. */
	by?: string;
	/** Of the start. */
	query?: string;
	/** The browser that finishes; by default, the one that started. */
	cookie?: string;
	/** Whether the provider sends the `RelayState` back. */
	relays?: boolean;
};

/** Signs in at samlp as a browser does. Returns where that leads. */
export async function throughSamlp(home: Connected, options: object = {}, how: AtSamlp = {}) {
	const { email = `Ada@${home.domain}`, by = "one", query, relays = true } = how;
	const named = { nameIdentifierFormat: PERSISTENT, ...options };
	const saml_acs_url = samlpUrl(ada(email), named, by);
	await db.update(domains).set({ saml_acs_url }).where(eq(domains.id, home.id));
	const { url, cookie } = await start(home, query);
	const page = await (await fetch(url)).text();
	expect(page).toContain(`action="${home.acs_url}"`);
	const xml = Buffer.from(fieldIn(page, "SAMLResponse"), "base64").toString();
	const relayState = relays ? fieldIn(page, "RelayState") : "";
	return follow(await post(home, xml, { relayState }), how.cookie ?? cookie);
}
