import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect } from "vitest";
import { domains } from "../../../src/db/schema/domains.ts";
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

export const sign = (signing: Signing) => send("/sign", signing);

export const ISSUER = "https://provider.test";

export const after = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

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

/** The parts of a response that tests change. */
const partsOf = ({ entity_id, acs_url, domain }: Connected, request: string) => ({
	id: `_${v7()}`,
	assertion_id: `_${v7()}`,
	issuer: ISSUER,
	response_issuer: ISSUER,
	destination: acs_url,
	in_response_to: request,
	confirmed_request: request,
	status: "urn:oasis:names:tc:SAML:2.0:status:Success",
	issued: after(0),
	not_before: after(-5),
	not_on_or_after: after(300),
	confirmed_until: after(300),
	recipient: acs_url,
	method: "urn:oasis:names:tc:SAML:2.0:cm:bearer",
	audience: `<saml:AudienceRestriction><saml:Audience>${entity_id}</saml:Audience></saml:AudienceRestriction>`,
	format: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
	name_id: v7(),
	context: "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport",
	session_until: after(3600),
	email: `ada@${domain}`,
	attributes: "",
});

export type Parts = ReturnType<typeof partsOf>;

/** Returns an attribute, or nothing if the value is empty. */
const attribute = (name: string, value: string) => (value === "" ? "" : ` ${name}="${value}"`);

/** Returns the XML of an assertion, which isn't signed. */
const assertionOf = (parts: Parts) =>
	[
		`<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" Version="2.0" ID="${parts.assertion_id}" IssueInstant="${parts.issued}">`,
		`<saml:Issuer>${parts.issuer}</saml:Issuer>`,
		`<saml:Subject><saml:NameID Format="${parts.format}">${parts.name_id}</saml:NameID>`,
		`<saml:SubjectConfirmation Method="${parts.method}"><saml:SubjectConfirmationData${attribute("Recipient", parts.recipient)}${attribute("NotOnOrAfter", parts.confirmed_until)}${attribute("InResponseTo", parts.confirmed_request)}/></saml:SubjectConfirmation></saml:Subject>`,
		`<saml:Conditions NotBefore="${parts.not_before}" NotOnOrAfter="${parts.not_on_or_after}">${parts.audience}</saml:Conditions>`,
		`<saml:AuthnStatement AuthnInstant="${parts.issued}" SessionNotOnOrAfter="${parts.session_until}"><saml:AuthnContext><saml:AuthnContextClassRef>${parts.context}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`,
		`<saml:AttributeStatement><saml:Attribute Name="email"><saml:AttributeValue>${parts.email}</saml:AttributeValue></saml:Attribute>${parts.attributes}</saml:AttributeStatement></saml:Assertion>`,
	].join("");

/** Returns the XML of a response, which isn't signed. */
const responseOf = (parts: Parts) =>
	[
		`<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${parts.id}" Version="2.0" IssueInstant="${parts.issued}"${attribute("Destination", parts.destination)}${attribute("InResponseTo", parts.in_response_to)}>`,
		`<saml:Issuer>${parts.response_issuer}</saml:Issuer>`,
		`<samlp:Status><samlp:StatusCode Value="${parts.status}"/></samlp:Status>`,
		`${assertionOf(parts)}</samlp:Response>`,
	].join("");

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

export type Changes = {
	change?: Partial<Parts>;
	signing?: Partial<Signing>;
	/** Changes the response before and after it is signed. */
	before?: (xml: string) => string;
	after?: (xml: string) => string;
};

/** Returns the signed response to a request. */
export async function signed(home: Connected, request: string, changes: Changes = {}) {
	const { change, signing, before = String, after = String } = changes;
	const parts = { ...partsOf(home, request), ...change };
	const xml = before(responseOf(parts));
	return after(await sign({ xml, by: "one", element: "Assertion", ...signing }));
}

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

export const succeeds = /^\/console\/sign_in#token=[\w-]{43}$/;

/** Returns the newest failed sign-in in the activity log. */
export async function newestFailure({ here }: Connected) {
	const { body } = await here("GET", "/activity_log?scope=SignIn");
	return body.results[0]?.detail?.trigger ?? body.results[0];
}

/** Returns the value of a form's field. */
const fieldIn = (page: string, name: string) =>
	new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? "";

/** The URL at samlp for requests, with what it says of whom. */
const samlpUrl = (user: object, options: object, by: string) =>
	`${env.SAML_PROVIDER_URL}/sso/${Buffer.from(JSON.stringify({ user, options, by })).toString("base64url")}`;

const ada = (email: string) => ({
	id: "ada-7",
	emails: [{ value: email }],
	displayName: "Ada Lovelace",
	name: { givenName: "Ada", familyName: "Lovelace" },
});

export const PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

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

export { send };
