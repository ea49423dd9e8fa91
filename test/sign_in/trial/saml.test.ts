import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { users } from "../../../src/db/schema/people.ts";
import { identities } from "../../../src/db/schema/sign_in.ts";
import { PERSISTENT } from "../../isolates/saml/responses.ts";
import { db } from "../../support/world.ts";
import { type Connected, connected, getPage, post, start, throughSamlp } from "../saml/support.ts";

const linksOf = ({ owner }: Connected) =>
	db.select().from(identities).where(eq(identities.user_id, owner.id));

/** A domain with a SAML provider, and the owner's address in it. */
async function withOwner() {
	const home = await connected();
	const email = `owner@${home.domain}`;
	await db.update(users).set({ email }).where(eq(users.id, home.owner.id));
	return { home, email };
}

/** Plans a test, and returns the query of the URL that starts it. */
async function plan({ here, id }: Connected) {
	const { status, body } = await here("POST", `/domains/${id}/sign_in_test`, {
		body: { method: "saml" },
	});
	expect(status).toBe(201);
	const { pathname, search } = new URL(body.url);
	expect(pathname).toBe(`/sso/saml/${id}/start`);
	return search;
}

/** Returns the result of a test that led to this location. */
async function resultOf({ here, id }: Connected, location: string) {
	const [, token] = /#tested=([\w-]{43})$/.exec(location) ?? [];
	expect(token, location).toBeDefined();
	const { body } = await here("POST", `/domains/${id}/sign_in_test/complete`, { body: { token } });
	return body;
}

test("the test of a SAML connection shows the claims and links the account of the admin, who can then enforce it", async () => {
	const { home, email } = await withOwner();
	const enforce = () =>
		home.here("PATCH", `/domains/${home.id}`, { body: { sso_enforcement: "saml" } });
	expect((await enforce()).body.code).toBe("sign_in_not_tested");
	const location = await throughSamlp(home, {}, { email, query: await plan(home) });
	expect(await linksOf(home)).toEqual([]);
	const result = await resultOf(home, location);
	expect(result).toMatchObject({
		success: true,
		is_linked: true,
		claims: {
			NameID: "ada-7",
			"NameID Format": PERSISTENT,
			"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress": email,
		},
	});
	expect(await linksOf(home)).toMatchObject([
		{ connection: `saml:${home.id}`, subject: `${PERSISTENT} ada-7`, email },
	]);
	expect((await enforce()).body).toMatchObject({ sso_enforcement: "saml" });
});

test("the test shows what a provider said that sends no address", async () => {
	const { home } = await withOwner();
	const location = await throughSamlp(home, {}, { email: "ada", query: await plan(home) });
	const { steps, claims } = await resultOf(home, location);
	expect(steps.at(-1)).toMatchObject({ name: "email_missing" });
	expect(claims).toMatchObject({ NameID: "ada-7", "NameID Format": PERSISTENT });
});

test("the test passes if the admin is linked by the same address in another case", async () => {
	const { home, email } = await withOwner();
	const format = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
	await db.insert(identities).values({
		...{ connection: `saml:${home.id}`, user_id: home.owner.id, email },
		subject: `${format} ADA-7`,
	});
	const named = { nameIdentifierFormat: format };
	const location = await throughSamlp(home, named, { email, query: await plan(home) });
	expect(await resultOf(home, location)).toMatchObject({ success: true, is_linked: true });
	expect(await linksOf(home)).toHaveLength(1);
});

test.each([
	["a stranger signed the response", "invalid_response", {}, "two"],
	[
		"the provider doesn't let the admin in",
		"provider_denied",
		{ samlStatusCode: "urn:oasis:names:tc:SAML:2.0:status:RequestDenied" },
		"one",
	],
	["nothing is signed", "invalid_response", { signAssertion: false }, "one"],
])("the test says so if %s", async (_, name, options, by) => {
	const { home, email } = await withOwner();
	const location = await throughSamlp(home, options, { email, by, query: await plan(home) });
	const result = await resultOf(home, location);
	expect(result).toMatchObject({ success: false, is_linked: false, claims: null });
	expect(result.steps.at(-1)).toMatchObject({ name, error: expect.any(String) });
	expect(await linksOf(home)).toEqual([]);
	const { body } = await home.here("GET", "/activity_log?scope=SignIn");
	expect(body.results).toEqual([]);
});

test("the test of a provider that isn't set up says so", async () => {
	const { home } = await withOwner();
	const query = await plan(home);
	await home.here("PATCH", `/domains/${home.id}`, { body: { saml_x509_cert: "" } });
	const { headers } = await getPage(`/sso/saml/${home.id}/start${query}`);
	const result = await resultOf(home, headers.get("location") ?? "");
	expect(result.steps).toMatchObject([{ name: "not_configured" }]);
});

test("a test can't be finished in another browser", async () => {
	const { home, email } = await withOwner();
	const cookie = `__Host-tenantry-sign-in-${"x".repeat(8)}=${"x".repeat(43)}`;
	const query = await plan(home);
	expect(await throughSamlp(home, {}, { email, query, cookie })).toBe(
		"/console/sign_in#problem=expired",
	);
});

test("a rejected response without the token of a test, or with that of another domain, ends no test", async () => {
	const { home, email } = await withOwner();
	const problem = "/console/sign_in#problem=invalid_response";
	const query = await plan(home);
	const how = { email, by: "two", query, relays: false };
	expect(await throughSamlp(home, {}, how)).toBe(problem);
	const other = await withOwner();
	const { url } = await start(other.home, await plan(other.home));
	const relayState = url.searchParams.get("RelayState") ?? "";
	const posted = await post(home, "<wrong/>", { relayState });
	expect(posted.headers.get("location")).toBe(problem);
});
