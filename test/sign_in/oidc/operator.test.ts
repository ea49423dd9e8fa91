import { env } from "cloudflare:workers";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import type { Lie } from "../../support/liar.ts";
import { begin, browser } from "./browser.ts";
import { entriesOf, identitiesOf, outcomeOf, userWith, withDomain } from "./support.ts";

const OPERATOR = {
	SSO_GOOGLE_CLIENT_ID: "tenantry",
	SSO_GOOGLE_CLIENT_SECRET: "secret-of-google",
	SSO_GOOGLE_ISSUER: `${env.LIAR_URL}/google`,
	SSO_GITLAB_CLIENT_ID: "tenantry",
	SSO_GITLAB_CLIENT_SECRET: "secret-of-gitlab",
	SSO_GITLAB_URL: `${env.LIAR_URL}/gitlab`,
	SSO_GITHUB_CLIENT_ID: "tenantry",
	SSO_GITHUB_CLIENT_SECRET: "secret-of-github",
	SSO_GITHUB_URL: `${env.LIAR_URL}/github`,
	GITHUB_API_URL: `${env.LIAR_URL}/github`,
} as Partial<Env>;

type Name = "google-oauth2" | "gitlab" | "github";

/** Signs in through one of the operator's providers, which says `lie` for this sign-in. */
async function signIn(name: Name, lie: (about: { nonce: string | null }) => Lie) {
	const own = browser(OPERATOR);
	const { searchParams } = await begin({ path: `/sso/${name}` }, own);
	const code = btoa(JSON.stringify(lie({ nonce: searchParams.get("nonce") })));
	const query = new URLSearchParams({
		code: code.replaceAll("+", "-").replaceAll("/", "_"),
		state: searchParams.get("state") ?? "",
	});
	return outcomeOf(await own.open(`/sso/${name}/callback?${query}`));
}

/** Signs in through Google or GitLab. */
const withClaims = (name: "google-oauth2" | "gitlab", claims: Record<string, unknown>) =>
	signIn(name, ({ nonce }) => {
		const iat = Math.floor(Date.now() / 1000);
		const iss = `${env.LIAR_URL}/${name === "gitlab" ? name : "google"}`;
		const own = { iss, aud: "tenantry", iat, exp: iat + 60, nonce, sub: v7() };
		return { claims: { ...own, email_verified: true, ...claims } };
	});

const withAddresses = (user: object, ...emails: object[]) =>
	signIn("github", () => ({ github: { user, emails } }));

const token = expect.stringMatching(/^[\w-]{43}$/);

describe("Google", () => {
	test("signs in people of a domain that it hosts and that enforces it", async () => {
		const home = await withDomain({ sso_enforcement: "google-oauth2" });
		const user = await home.colleague();
		const claims = { email: user.email, hd: home.domain };
		expect(await withClaims("google-oauth2", claims)).toEqual({ token });
		expect(await identitiesOf(user)).toMatchObject([{ connection: "google-oauth2" }]);
	});

	test.each([
		["of a domain that it doesn't host, although it was verified once", {}],
		["of another domain than the one that it hosts", { hd: "elsewhere.example.com" }],
		["that it hasn't verified", { hd: true, email_verified: false }],
		["of which it doesn't say whether it is verified", { hd: true, email_verified: undefined }],
	])(
		"isn't believed about an address %s",
		async (_, { hd, ...claims }: Record<string, unknown>) => {
			const home = await withDomain({ sso_enforcement: "google-oauth2" });
			const user = await home.colleague();
			const hosted = { hd: hd === true ? home.domain : hd };
			expect(
				await withClaims("google-oauth2", { email: user.email, ...hosted, ...claims }),
			).toEqual({
				problem: "email_not_verified",
			});
			expect(await identitiesOf(user)).toEqual([]);
			expect(await entriesOf(home)).toMatchObject([{ activity: "failed" }]);
		},
	);
});

describe("GitLab", () => {
	test("makes a member of a domain that enforces it, with just-in-time provisioning", async () => {
		const home = await withDomain({ sso_enforcement: "gitlab", jit_provisioning_enabled: true });
		const email = `ada@${home.domain}`;
		expect(await withClaims("gitlab", { email })).toEqual({ token });
		expect(await identitiesOf(await userWith(email))).toMatchObject([{ connection: "gitlab" }]);
	});

	test("isn't believed about an address that it hasn't verified", async () => {
		const home = await withDomain({ sso_enforcement: "gitlab" });
		const { email } = await home.colleague();
		expect(await withClaims("gitlab", { email, email_verified: false })).toEqual({
			problem: "email_not_verified",
		});
	});
});

describe("GitHub", () => {
	const inDomain = async () => {
		const home = await withDomain({ sso_enforcement: "github", jit_provisioning_enabled: true });
		return { home, email: `ada@${home.domain}`, id: Math.floor(Math.random() * 2 ** 40) };
	};

	test("signs in with the verified primary address, and is known by the id of the account", async () => {
		const { email, id } = await inDomain();
		const other = { email: "eve@example.com", primary: false, verified: true };
		const primary = { email: email.toUpperCase(), primary: true, verified: true };
		expect(await withAddresses({ id, name: "Ada King Lovelace" }, other, primary)).toEqual({
			token,
		});
		const user = await userWith(email);
		expect(user).toMatchObject({ first_name: "Ada", last_name: "King Lovelace" });
		expect(await identitiesOf(user)).toMatchObject([{ connection: "github", subject: String(id) }]);
	});

	test("isn't believed about other addresses", async () => {
		const { email, id } = await inDomain();
		const primary = { email, primary: true, verified: false };
		const other = { email, primary: false, verified: true };
		expect(await withAddresses({ id }, primary)).toEqual({ problem: "email_not_verified" });
		expect(await withAddresses({ id }, other)).toEqual({ problem: "email_missing" });
		expect(await withAddresses({ id })).toEqual({ problem: "email_missing" });
		expect(await withAddresses({ login: "ada" }, { ...primary, verified: true })).toEqual({
			problem: "invalid_response",
		});
		expect(await userWith(email)).toBeUndefined();
	});

	test("signs in whoever has a name of another type", async () => {
		const { email, id } = await inDomain();
		const primary = { email, primary: true, verified: true };
		expect(await withAddresses({ id, name: ["Ada"] }, primary)).toEqual({ token });
	});

	test.each(["true", 1, null])("isn't believed if verified is %j", async (verified) => {
		const { email, id } = await inDomain();
		expect(await withAddresses({ id }, { email, primary: true, verified })).toEqual({
			problem: "invalid_response",
		});
	});

	test("says why a code isn't accepted", async () => {
		const body = { error: "bad_verification_code", error_description: "The code is incorrect." };
		const error = { status: 400, body };
		expect(await signIn("github", () => ({ error }))).toEqual({ problem: "provider_denied" });
	});
});

test("providers that the operator hasn't set up don't sign in", async () => {
	for (const name of ["google-oauth2", "github", "gitlab", "constructor"])
		expect((await begin({ path: `/sso/${name}` }, browser())).hash).toBe("#problem=not_configured");
});
