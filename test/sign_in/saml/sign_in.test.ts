import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/people.ts";
import { identities, signInStates } from "../../../src/db/schema/sign_in.ts";
import {
	ALGORITHMS,
	after,
	type Changes,
	ISSUER,
	PERSISTENT,
} from "../../isolates/saml/responses.ts";
import { ending, loader } from "../../support/loader.ts";
import { eventually, exhaust } from "../../support/time.ts";
import { call, cost, db } from "../../support/world.ts";
import {
	type Connected,
	connected,
	cookieIn,
	expectRejected,
	follow,
	getPage,
	linksOf,
	newestFailure,
	post,
	problem,
	signed,
	signIn,
	start,
	succeeds,
	throughSamlp,
} from "./support.ts";

/** The identities of a domain's connection. */
const identitiesOf = ({ id }: Connected) =>
	db
		.select()
		.from(identities)
		.where(eq(identities.connection, `saml:${id}`));

test("a person signs in with samlp, which others wrote, and is signed in as the same person again", async () => {
	const home = await connected();
	const location = await throughSamlp(home);
	expect(location).toMatch(succeeds);
	const [, token] = location.split("=");
	const { body } = await call("POST", "/api/sign_in/complete", { body: { token } });
	const email = `ada@${home.domain}`;
	expect(body.user).toMatchObject({ email, first_name: "Ada", last_name: "Lovelace" });
	const found = await db.select().from(users).where(eq(users.email, email));
	expect(found).toMatchObject([{ has_social_auth: true }]);
	expect(await throughSamlp(home)).toMatch(succeeds);
	expect(await identitiesOf(home)).toMatchObject([{ subject: `${PERSISTENT} ada-7` }]);
});

test.each<[string, Changes, string, string]>([
	["that a stranger signed", { signing: { by: "two" } }, "invalid_response", "No certificate"],
	[
		"with a second assertion",
		{ after: (xml) => xml.replace(/<saml:Assertion [\s\S]*<\/saml:Assertion>/, "$&$&") },
		"invalid_response",
		"2 assertions",
	],
	["that has expired", { change: { not_on_or_after: after(-600) } }, "invalid_response", "expired"],
	[
		"that lets nobody in",
		{ change: { status: "urn:oasis:names:tc:SAML:2.0:status:RequestDenied" } },
		"provider_denied",
		"RequestDenied",
	],
])("a response %s creates nothing, and the admins find out why", async (_, changes, code, why) => {
	await expectRejected(changes, why, code);
});

// The last is RSA-PSS with SHA-512.
test.each(ALGORITHMS.slice(-1))(
	"a signature with $signatureAlgorithm is verified",
	async (signing) => {
		expect(await signIn(await connected(), { signing })).toMatch(succeeds);
	},
);

describe("the start", () => {
	test("leads to the domain's provider, with a request for it from APP_URL, whatever the host", async () => {
		const home = await connected();
		const { response, url, xml, request } = await start(home);
		expect(response.status).toBe(303);
		expect(`${url.origin}${url.pathname}`).toBe("https://provider.test/sso");
		expect(url.searchParams.get("tenant")).toBe("7");
		expect(xml).toContain(`AssertionConsumerServiceURL="${home.acs_url}"`);
		expect(xml).toContain(`>${home.entity_id}</`);
		expect(xml).toContain('Destination="https://provider.test/sso?tenant=7"');
		expect(request).toMatch(/^_[\w-]{43}$/);
		expect(response.headers.get("set-cookie")).toMatch(
			/^__Host-tenantry-sign-in-[\w-]{8}=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
		);
		expect(response.headers.get("cache-control")).toBe("no-store");
		expect(cost(response)).toMatchObject({ trips: 2, written: 1 });
	});

	test.each<[string, Partial<typeof domains.$inferInsert>]>([
		["isn't verified", { verified_at: null }],
		["has no entity id", { saml_entity_id: "" }],
		["has no URL", { saml_acs_url: null }],
		["has no certificate", { saml_x509_cert: "" }],
		["has a URL that isn't one", { saml_acs_url: "provider" }],
		["has a URL that a browser would run", { saml_acs_url: "javascript:alert(1)" }],
	])("leads back if the domain %s", async (_, row) => {
		const { id } = await connected(row);
		const { status, headers } = await getPage(`/sso/saml/${id}/start`);
		expect([status, headers.get("location")]).toEqual([303, problem("not_configured")]);
	});

	test.each([v7(), "x"])("leads back if there is no domain %s", async (id) => {
		const { headers } = await getPage(`/sso/saml/${id}/start`);
		expect(headers.get("location")).toBe(problem("not_configured"));
	});
});

describe("the metadata", () => {
	test("says where responses go, and that assertions must be signed", async () => {
		const id = v7();
		const { status, headers, body } = await call("GET", `/sso/saml/${id}/metadata`);
		expect(status).toBe(200);
		expect(headers.get("content-type")).toBe("text/xml");
		const base = `${env.APP_URL}/sso/saml/${id}`;
		expect(body).toContain(`entityID="${base}/metadata"`);
		expect(body).toContain(`Location="${base}/acs"`);
		expect(body).toContain('WantAssertionsSigned="true"');
		expect(body).toContain("bindings:HTTP-POST");
	});

	test("exists only for ids, and if APP_URL is set", async () => {
		expect((await call("GET", "/sso/saml/x/metadata")).status).toBe(404);
		const path = `/sso/saml/${v7()}/metadata`;
		expect((await call("GET", path, { env: { APP_URL: "" } })).status).toBe(404);
	});
});

describe("a response", () => {
	test("costs two round trips, and the end of the sign-in needs the browser that started it", async () => {
		const home = await connected();
		const { cookie, request } = await start(home);
		const posted = await post(home, await signed(home, request));
		expect(posted.status).toBe(303);
		expect(cost(posted)).toMatchObject({ trips: 2 });
		expect(await follow(posted, "")).toBe(problem("expired"));
		expect(await follow(posted, (await start(home)).cookie)).toBe(problem("expired"));
		expect(await linksOf(home)).toEqual([]);
		expect(await follow(posted, cookie)).toMatch(succeeds);
		expect(await follow(posted, cookie)).toBe(problem("expired"));
	});

	test("of a sign-in that a page of the service started is vouched for, and of no other", async () => {
		const home = await connected();
		const vouched = async (headers: Record<string, string>) => {
			const { cookie, request } = await start(home, "", headers);
			const posted = await post(home, await signed(home, request));
			const finished = await getPage(posted.headers.get("location") ?? "", {
				headers: { cookie, "sec-fetch-site": "cross-site" },
			});
			const [, token] = (finished.headers.get("location") ?? "").split("=");
			const cookies = finished.headers.getSetCookie();
			return cookies.some((set) => set.startsWith(`__Host-tenantry-signed-in=${token};`));
		};
		expect(await vouched({ "sec-fetch-site": "same-origin" })).toBe(true);
		expect(await vouched({ "sec-fetch-site": "cross-site" })).toBe(false);
	});

	test("to one of two sign-ins of a browser ends that one, in either order", async () => {
		const home = await connected();
		const [first, second] = [await start(home), await start(home)];
		const cookie = `${first.cookie}; ${second.cookie}`;
		const change = { name_id: v7() };
		for (const { request } of [second, first]) {
			const posted = await post(home, await signed(home, request, { change }));
			expect(await follow(posted, cookie)).toMatch(succeeds);
		}
	});

	test("is accepted once, even if it comes 10 times at the same time", async () => {
		const home = await connected();
		const { request } = await start(home);
		const xml = await signed(home, request);
		const posted = await Promise.all(Array.from({ length: 10 }, () => post(home, xml)));
		const locations = posted.map(({ headers }) => headers.get("location"));
		expect(locations.filter((location) => location?.startsWith("/sso/finish"))).toHaveLength(1);
		expect(locations.filter((location) => location === problem("expired"))).toHaveLength(9);
	});

	test.each([
		["an unknown request", `_${"x".repeat(43)}`, false],
		["a request of another form", "x", false],
		["a request of more than ten minutes ago", undefined, true],
	])("to %s is rejected", async (_, other, isOld) => {
		const home = await connected();
		const { cookie, request } = await start(home);
		if (isOld) await db.update(signInStates).set({ expires_at: after(-1) });
		const xml = await signed(home, other ?? request);
		expect(await follow(await post(home, xml), cookie)).toBe(problem("expired"));
	});

	test("for one domain is rejected by another, whose provider has the same entity id", async () => {
		const [one, two] = [await connected(), await connected()];
		const { request } = await start(two);
		const xml = await signed(one, request);
		expect((await post(two, xml)).headers.get("location")).toBe(problem("invalid_response"));
	});

	test("to a request of another domain is rejected", async () => {
		const [one, two] = [await connected(), await connected()];
		const { cookie, request } = await start(two);
		const posted = await post(one, await signed(one, request));
		expect(await follow(posted, cookie)).toBe(problem("expired"));
	});

	test("about an address of another domain is rejected", async () => {
		const [home, other] = [await connected(), await connected()];
		for (const email of [`ada@${other.domain}`, `ada@sub.${home.domain}`])
			expect(await signIn(home, { change: { email } })).toBe(problem("wrong_domain"));
	});

	test("without a valid address is rejected", async () => {
		const home = await connected();
		// Unicode's lower case of the Kelvin sign is "k". The part before the second @ is no domain.
		for (const email of ["ada", `\u212Aate@${home.domain}`, `x@example.com@${home.domain}`])
			expect([email, await signIn(home, { change: { email } })]).toEqual([
				email,
				problem("email_missing"),
			]);
	});

	test("in capital letters is about the same address", async () => {
		const home = await connected();
		expect(await signIn(home, { change: { email: `ADA@${home.domain}` } })).toMatch(succeeds);
		const found = await db
			.select()
			.from(users)
			.where(eq(users.email, `ada@${home.domain}`));
		expect(found).toHaveLength(1);
	});

	test("of a domain that isn't verified any more is rejected", async () => {
		const home = await connected();
		const { cookie, request } = await start(home);
		const posted = await post(home, await signed(home, request));
		await db.update(domains).set({ verified_at: null }).where(eq(domains.id, home.id));
		expect(await follow(posted, cookie)).toBe(problem("domain_not_verified"));
		const again = await post(home, await signed(home, request));
		expect(again.headers.get("location")).toBe(problem("not_configured"));
	});

	test.each([
		["is missing", "x=1"],
		["isn't Base64", "SAMLResponse=<>"],
	])("that %s is rejected", async (_, raw) => {
		const { id } = await connected();
		const { status, headers } = await call("POST", `/sso/saml/${id}/acs`, { raw });
		expect([status, headers.get("location")]).toEqual([303, problem("invalid_response")]);
	});

	test("of 10 MB is rejected before it is read", async () => {
		const home = await connected();
		expect(await post(home, "x".repeat(10_000_000))).toMatchObject({
			status: 413,
			body: { code: "request_too_large" },
		});
	});
});

describe("a sign-in that the provider starts", () => {
	test("is rejected unless the domain allows it", async () => {
		const home = await connected();
		const posted = await post(home, await signed(home, ""));
		expect(posted.headers.get("location")).toBe(problem("not_started_here"));
		expect(posted.headers.get("set-cookie")).toBeNull();
		expect(await newestFailure(home)).toMatchObject({ code: "not_started_here" });
	});

	test("works once if the domain allows it", async () => {
		const home = await connected({ saml_idp_initiated: true });
		const xml = await signed(home, "");
		const posted = await post(home, xml);
		expect(cost(posted)).toMatchObject({ trips: 2 });
		expect(await follow(posted, "")).toBe(problem("expired"));
		expect(await follow(posted, cookieIn(posted))).toMatch(succeeds);
		const again = await post(home, xml);
		expect(again.headers.get("location")).toBe(problem("expired"));
	});

	test("isn't vouched for, so that it needs a click", async () => {
		const home = await connected({ saml_idp_initiated: true });
		const posted = await post(home, await signed(home, ""));
		const { headers } = await getPage(posted.headers.get("location") ?? "", {
			headers: { cookie: cookieIn(posted), "sec-fetch-site": "same-origin" },
		});
		expect(headers.get("location")).toMatch(succeeds);
		expect(headers.getSetCookie().join()).not.toContain("tenantry-signed-in");
	});

	test("works once even if the response comes 10 times at the same time", async () => {
		const home = await connected({ saml_idp_initiated: true });
		const xml = await signed(home, "");
		const posted = await Promise.all(Array.from({ length: 10 }, () => post(home, xml)));
		const locations = posted.map(({ headers }) => headers.get("location"));
		expect(locations.filter((location) => location?.startsWith("/sso/finish"))).toHaveLength(1);
	});

	test("is remembered until the last of its confirmations expires", async () => {
		const home = await connected({ saml_idp_initiated: true });
		const confirmed = (seconds: number) =>
			`<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData Recipient="${home.acs_url}" NotOnOrAfter="${after(seconds)}"/></saml:SubjectConfirmation>`;
		const before = (xml: string) =>
			xml.replace(
				/<saml:SubjectConfirmation [\s\S]*<\/saml:SubjectConfirmation>/,
				confirmed(30) + confirmed(3000),
			);
		const posted = await post(home, await signed(home, "", { before }));
		expect(posted.headers.get("location")).toMatch(/^\/sso\/finish/);
		const rows = await db.select().from(signInStates).where(eq(signInStates.kind, "response"));
		expect(rows.some(({ expires_at }) => expires_at > after(3000 + 120))).toBe(true);
	});
});

test("a person is known by the name with its format, not by the address, and a second factor is noted", async () => {
	const home = await connected();
	const name_id = v7();
	expect(await signIn(home, { change: { name_id } })).toMatch(succeeds);
	// The address has changed.
	const email = `lovelace@${home.domain}`;
	const context = "https://refeds.org/profile/mfa";
	expect(await signIn(home, { change: { name_id, email, context } })).toMatch(succeeds);
	expect(await identitiesOf(home)).toHaveLength(1);
	const links = await linksOf(home);
	expect(links.map(({ has_factor }) => has_factor).sort()).toEqual([false, true]);
	const format = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";
	expect(await signIn(home, { change: { name_id, format, email } })).toMatch(succeeds);
	expect(await identitiesOf(home)).toHaveLength(2);
});

test("a certificate that can't be read is a problem of the settings, which the admins find out", async () => {
	const home = await connected({ saml_x509_cert: "x" });
	expect(await signIn(home)).toBe(problem("not_configured"));
	expect((await newestFailure(home)).detail).toContain("saml_x509_cert");
});

describe("the isolate of SAML", () => {
	test("is replaced if it ends", async () => {
		const home = await connected();
		const { cookie, request } = await start(home);
		const LOADER = loader({ get: ending("verify") });
		const posted = await post(home, await signed(home, request), { env: { LOADER } });
		expect(await follow(posted, cookie)).toMatch(succeeds);
	});

	test("that can't be loaded ends the sign-in in words, which can be repeated", async () => {
		const home = await connected();
		const { cookie, request } = await start(home);
		const xml = await signed(home, request);
		const LOADER = loader({ get: ending("verify"), load: ending("verify") });
		const failed = await post(home, xml, { env: { LOADER } });
		expect(failed.headers.get("location")).toBe(problem("unavailable"));
		expect(await follow(await post(home, xml), cookie)).toMatch(succeeds);
	});
});

test("a failed sign-in is in the activity log of the domain's organization only", async () => {
	const [home, other] = [await connected(), await connected()];
	await signIn(home, { change: { issuer: "https://other.test" } });
	expect(await newestFailure(home)).toMatchObject({
		connection: `saml:${home.id}`,
		detail: `The issuer is "https://other.test", not ${ISSUER}.`,
	});
	expect(await newestFailure(other)).toBeUndefined();
});

test("a network that sends too much is told so, on the way there and back", async () => {
	const home = await connected();
	const xml = await signed(home, (await start(home)).request);
	const headers = { "cf-connecting-ip": "2001:db8:7:1::1" };
	await eventually(async () => {
		await exhaust(env.AUTH_FAILURES, "sign-ins from 2001:db8:7:1::/64");
		const started = await getPage(`/sso/saml/${home.id}/start`, { headers });
		expect(started.headers.get("location")).toBe(problem("too_many_attempts"));
	});
	await eventually(async () => {
		await exhaust(env.AUTH_FAILURES, "responses from 2001:db8:7:1::/64");
		const posted = await post(home, xml, { headers });
		expect(posted.headers.get("location")).toBe(problem("too_many_attempts"));
	});
});
