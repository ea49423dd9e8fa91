import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { seal } from "../../../src/accounts/domains/secret.ts";
import { signInStates } from "../../../src/db/schema/sign_in.ts";
import { users } from "../../../src/db/schema/users.ts";
import type { Lie, Said } from "../../support/provider.ts";
import { withoutPatience } from "../../support/time.ts";
import { db } from "../../support/world.ts";
import { complete } from "../sign_in/support.ts";
import { begin, browser, CLIENT, type Home, signInAt, withProvider } from "./browser.ts";
import { entriesOf, identitiesOf, outcomeOf, userWith } from "./support.ts";

/** Signs in through `oidc-provider`, and returns the outcome. */
async function signIn(home: Home, form: Record<string, string>, own = browser()) {
	const callback = await signInAt(await begin(home, own), form);
	return outcomeOf(await own.open(callback));
}

const token = expect.stringMatching(/^[\w-]{43}$/);

const claimsOf = (claims: Record<string, unknown>) => JSON.stringify(claims);

describe("oidc-provider", () => {
	test("signs in a colleague, who is known by the provider's id from then on", async () => {
		const home = await withProvider();
		const user = await home.colleague();
		const first = await signIn(home, { email: user.email, claims: claimsOf({ sub: user.uuid }) });
		expect(first).toEqual({ token });
		expect(await identitiesOf(user)).toMatchObject([
			{ connection: `oidc:${home.domain_id}`, subject: user.uuid, email: user.email },
		]);
		const signedIn = await complete({ token: first.token ?? "" });
		expect(signedIn).toMatchObject({ status: 200, body: { user: { uuid: user.uuid } } });
		const renamed = { email: `countess@${home.domain}`, claims: claimsOf({ sub: user.uuid }) };
		expect(await signIn(home, renamed)).toEqual({ token });
		expect(await userWith(renamed.email)).toBeUndefined();
	});

	test("makes a member with just-in-time provisioning, with the names that it reports", async () => {
		const home = await withProvider(env.PROVIDER_URL, { jit_provisioning_enabled: true });
		const email = `grace@${home.domain}`;
		const claims = claimsOf({ given_name: "Grace\u0000", family_name: "H".repeat(200) });
		expect(await signIn(home, { email, claims })).toEqual({ token });
		expect(await userWith(email)).toMatchObject({
			first_name: "Grace",
			last_name: "H".repeat(150),
			has_social_auth: true,
		});
	});

	test("counts as a second factor if it says so", async () => {
		const home = await withProvider(env.PROVIDER_URL, { jit_provisioning_enabled: true });
		await home.here("PATCH", "", { body: { enforce_2fa: true } });
		const email = `ada@${home.domain}`;
		const without = await signIn(home, { email });
		expect((await complete({ token: without.token ?? "" })).body.code).toBe(
			"two_factor_setup_required",
		);
		const { token = "" } = await signIn(home, { email, factor: "on" });
		expect((await complete({ token })).status).toBe(200);
	});

	test.each([
		["of another domain", "wrong_domain", { email: "ada@elsewhere.example.com" }],
		["that isn't verified", "email_not_verified", { email_verified: false }],
		["that isn't verified, in text", "email_not_verified", { email_verified: "false" }],
		["that is missing", "email_missing", { email: null }],
		["that is invalid", "email_missing", { email: "ada" }],
	])("can't sign in somebody with an address %s", async (_, problem, claims) => {
		const home = await withProvider(env.PROVIDER_URL, { jit_provisioning_enabled: true });
		const form = { email: `ada@${home.domain}`, claims: claimsOf({ sub: v7(), ...claims }) };
		expect(await signIn(home, form)).toEqual({ problem });
		expect(await entriesOf(home)).toMatchObject([
			{ scope: "SignIn", activity: "failed", detail: { trigger: { code: problem } } },
		]);
		expect(await userWith(form.email)).toBeUndefined();
	});

	test("isn't asked with a wrong secret", async () => {
		const home = await withProvider();
		const user = await home.colleague();
		await home.set({ oidc_client_secret: await seal(env, home.domain_id, "wrong") });
		expect(await signIn(home, { email: user.email })).toEqual({ problem: "provider_denied" });
		const [entry] = await entriesOf(home);
		expect(JSON.stringify(entry?.detail)).toContain("invalid_client");
		expect(JSON.stringify(entry?.detail)).not.toContain(CLIENT.secret);
	});

	test("gets the address as a hint, PKCE, a nonce, and no secret", async () => {
		const home = await withProvider();
		const url = await begin(home, browser(), { query: `?email=ada@${home.domain}` });
		expect(Object.fromEntries(url.searchParams)).toEqual({
			client_id: "tenantry",
			redirect_uri: `https://tenantry.test${home.path}/callback`,
			response_type: "code",
			scope: "openid email profile",
			state: token,
			nonce: token,
			code_challenge: token,
			code_challenge_method: "S256",
			login_hint: `ada@${home.domain}`,
		});
		const again = await begin(home, browser());
		for (const name of ["state", "nonce", "code_challenge"])
			expect(again.searchParams.get(name)).not.toBe(url.searchParams.get(name));
	});
});

describe("a callback", () => {
	const signedIn = async () => {
		const home = await withProvider();
		const user = await home.colleague();
		const own = browser();
		const callback = await signInAt(await begin(home, own), { email: user.email });
		return { home, user, own, callback };
	};

	test("in another browser is rejected", async () => {
		const { own, callback, user } = await signedIn();
		expect(outcomeOf(await browser().open(callback))).toEqual({ problem: "expired" });
		const other = browser();
		for (const name of own.cookies.keys()) other.cookies.set(name, "x".repeat(43));
		expect(outcomeOf(await other.open(callback))).toEqual({ problem: "expired" });
		expect(await identitiesOf(user)).toEqual([]);
		expect(outcomeOf(await own.open(callback))).toEqual({ token });
	});

	test("is rejected when it is repeated", async () => {
		const { own, callback } = await signedIn();
		const cookies = new Map(own.cookies);
		expect(outcomeOf(await own.open(callback))).toEqual({ token });
		for (const [name, value] of cookies) own.cookies.set(name, value);
		expect(outcomeOf(await own.open(callback))).toEqual({ problem: "expired" });
	});

	test("with another state is rejected", async () => {
		const { own, callback } = await signedIn();
		const other = callback.replace(/state=[^&]+/, `state=${"x".repeat(43)}`);
		expect(outcomeOf(await own.open(other))).toEqual({ problem: "expired" });
	});

	test("after ten minutes is rejected", async () => {
		const { own, callback } = await signedIn();
		await db.update(signInStates).set({ expires_at: new Date().toISOString() });
		expect(outcomeOf(await own.open(callback))).toEqual({ problem: "expired" });
	});

	test("with a used code is rejected", async () => {
		const { home, own, callback, user } = await signedIn();
		expect(outcomeOf(await own.open(callback))).toEqual({ token });
		const next = await begin(home, own);
		const replayed = callback.replace(/state=[^&]+/, `state=${next.searchParams.get("state")}`);
		expect(outcomeOf(await own.open(replayed))).toEqual({ problem: "provider_denied" });
		expect(await identitiesOf(user)).toHaveLength(1);
	});

	test("of one connection can't use the state of another", async () => {
		const { home, user } = await signedIn();
		const other = await withProvider();
		const own = browser();
		const url = await begin(other, own);
		url.searchParams.set("redirect_uri", `https://tenantry.test${home.path}/callback`);
		const callback = await signInAt(url, { email: user.email });
		expect(callback).toContain(home.path);
		expect(outcomeOf(await own.open(callback))).toEqual({ problem: "expired" });
		expect(await identitiesOf(user)).toEqual([]);
	});

	test("with an error of the provider says so", async () => {
		const home = await withProvider();
		const own = browser();
		const state = (await begin(home, own)).searchParams.get("state");
		const query = new URLSearchParams({
			state: state ?? "",
			error: "access_denied",
			iss: env.PROVIDER_URL,
		});
		expect(outcomeOf(await own.open(`${home.path}/callback?${query}`))).toEqual({
			problem: "provider_denied",
		});
	});
});

describe("several sign-ins of a browser", () => {
	/** Starts sign-ins, and signs in at the provider. Returns the URLs that it leads back to. */
	async function started(count: number) {
		const home = await withProvider();
		const user = await home.colleague();
		const own = browser();
		const callbacks: string[] = [];
		for (let i = 0; i < count; i++)
			callbacks.push(await signInAt(await begin(home, own), { email: user.email }));
		return { home, own, callbacks };
	}

	test.each([
		["in the order in which they started", (all: string[]) => all],
		["in the other order", (all: string[]) => all.toReversed()],
	])("each end %s", async (_, order) => {
		const { own, callbacks } = await started(2);
		for (const callback of order(callbacks))
			expect(outcomeOf(await own.open(callback))).toEqual({ token });
		expect([...own.cookies.keys()]).toEqual([]);
	});

	test("each end once", async () => {
		const { own, callbacks } = await started(2);
		const cookies = new Map(own.cookies);
		for (const callback of callbacks) await own.open(callback);
		for (const [name, value] of cookies) own.cookies.set(name, value);
		for (const callback of callbacks)
			expect(outcomeOf(await own.open(callback))).toEqual({ problem: "expired" });
	});

	test("can be five: the sixth ends the oldest, however many a page starts", async () => {
		const { home, own, callbacks } = await started(2);
		const [oldest = "", kept = ""] = callbacks;
		for (let i = 0; i < 4; i++) await begin(home, own, { site: "cross-site" });
		expect(own.cookies.size).toBe(5);
		expect(outcomeOf(await own.open(oldest))).toEqual({ problem: "expired" });
		expect(outcomeOf(await own.open(kept))).toEqual({ token });
		for (let i = 0; i < 20; i++) await begin(home, own, { site: "cross-site" });
		expect(own.cookies.size).toBe(5);
	});

	test("that started at the same time don't add up to more", async () => {
		const { home, own } = await started(0);
		await Promise.all(Array.from({ length: 9 }, () => begin(home, own)));
		expect(own.cookies.size).toBe(9);
		await begin(home, own);
		expect(own.cookies.size).toBe(5);
	});
});

test.each([
	["a page of the service", "same-origin", true],
	["a page of another host", "same-site", false],
	["a page elsewhere", "cross-site", false],
	["a bookmark or mail", "none", false],
	["an old browser", undefined, false],
])("a sign-in started by %s is vouched for, so that it needs no click: %s", async (_, site, is) => {
	const home = await withProvider();
	const { email } = await home.colleague();
	const own = browser();
	const callback = await signInAt(await begin(home, own, { site }), { email });
	const { token: given } = outcomeOf(await own.open(callback));
	expect(own.cookies.get("__Host-tenantry-signed-in")).toBe(is ? given : undefined);
});

/** Returns the kind of a liar whose documents have other values. */
const saying = (said: Said) => `says_${Buffer.from(JSON.stringify(said)).toString("hex")}`;

/** Starts a sign-in through the liar, and returns what it should say and the outcome of a code. */
async function atLiar(kind = "plain") {
	const issuer = `${env.LIAR_URL}/${kind}`;
	const home = await withProvider(issuer);
	const user = await home.colleague();
	const own = browser();
	const { searchParams } = await begin(home, own);
	const seconds = Math.floor(Date.now() / 1000);
	const claims = {
		...{ iss: issuer, aud: "tenantry", iat: seconds, exp: seconds + 60 },
		...{ sub: user.uuid, email: user.email, nonce: searchParams.get("nonce") },
	};
	const state = searchParams.get("state") ?? "";
	const answer = async (lie: Lie, more: Record<string, string> = {}) => {
		const code = btoa(JSON.stringify(lie)).replaceAll("+", "-").replaceAll("/", "_");
		const query = new URLSearchParams({ code, state, ...more });
		return outcomeOf(await own.open(`${home.path}/callback?${query}`));
	};
	return { home, user, issuer, claims, answer };
}

describe("a provider", () => {
	test("that tells the truth signs in", async () => {
		const { answer, claims } = await atLiar();
		expect(await answer({ claims })).toEqual({ token });
	});

	const past = Math.floor(Date.now() / 1000) - 3600;
	const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

	test.each([
		["a minute behind ours", () => ({ iat: inSeconds(-400), exp: inSeconds(-60) })],
		["a minute ahead of ours", () => ({ iat: inSeconds(60), nbf: inSeconds(60) })],
	])("signs in if its clock is %s", async (_, changes) => {
		const { answer, claims } = await atLiar();
		const lie = { claims: { ...claims, exp: inSeconds(600), ...changes() } };
		expect(await answer(lie)).toEqual({ token });
	});

	test.each([
		["null", null],
		["empty", ""],
		["missing", undefined],
		["true", true],
		["a list", ["ada@example.com"]],
		["no address", "ada"],
	])("is asked for more if the address in its ID token is %s", async (_, email) => {
		const { answer, claims, user } = await atLiar();
		const userinfo = { sub: user.uuid, email: user.email, email_verified: true };
		const lie = { claims: { ...claims, email }, userinfo };
		expect(await answer(lie)).toEqual({ token });
	});

	test.each([
		["about somebody else", { sub: "somebody else" }, "invalid_response"],
		["without an address either", { email: null }, "email_missing"],
	])("is rejected with userinfo %s", async (_, changes, problem) => {
		const { answer, claims, user } = await atLiar();
		const userinfo = { sub: user.uuid, email: user.email, ...changes };
		expect(await answer({ claims: { ...claims, email: "" }, userinfo })).toEqual({
			problem,
		});
		expect(await identitiesOf(user)).toEqual([]);
	});

	test("isn't asked for more if its ID token has an address", async () => {
		const { answer, claims } = await atLiar();
		const userinfo = { sub: "somebody else" };
		expect(await answer({ claims, userinfo })).toEqual({ token });
	});

	test.each<[string, Record<string, unknown>, Partial<Lie>]>([
		["of another issuer", { iss: "https://elsewhere.example.com" }, {}],
		["for another client", { aud: "another" }, {}],
		["for several clients, of which another one asked", { aud: ["tenantry", "b"], azp: "b" }, {}],
		["of another sign-in", { nonce: "another" }, {}],
		["without a nonce", { nonce: undefined }, {}],
		["that has expired", { iat: past, exp: past + 60 }, {}],
		["that expired more than two minutes ago", { exp: inSeconds(-125) }, {}],
		["that isn't valid for some minutes", { nbf: inSeconds(600), exp: inSeconds(900) }, {}],
		["that starts beyond all dates", { nbf: 1e14, exp: 1e15 }, {}],
		["that expired before all dates", { exp: -1e300 }, {}],
		["without a subject", { sub: undefined }, {}],
		["with a subject that is too long", { sub: "s".repeat(256) }, {}],
		["signed with another key", {}, { signature: "another key" }],
		["without a signature", {}, { signature: "none" }],
		["signed with the client's secret", {}, { signature: "the client's secret" }],
	])("is rejected if it sends an ID token %s", async (_, changes, lie) => {
		const { home, user, answer, claims } = await atLiar();
		expect(await answer({ claims: { ...claims, ...changes }, ...lie })).toEqual({
			problem: "invalid_response",
		});
		expect(await identitiesOf(user)).toEqual([]);
		expect(await entriesOf(home)).toHaveLength(1);
	});

	test.each<[string, Record<string, unknown>, RegExp]>([
		[
			"iss",
			{ iss: "https://elsewhere.example.com" },
			/iss is "https:\/\/elsewhere\.example\.com", not "http.*plain"/,
		],
		["aud", { aud: "another" }, /aud is "another", not "tenantry"/],
		["azp", { aud: ["tenantry", "b"], azp: "b" }, /azp is "b", not "tenantry"/],
		["exp", { exp: past }, /exp is \d{4}-.*Z\. It was \d{4}-.*Z/],
		["nonce", { nonce: "another" }, /^((?!another).)*nonce((?!another).)*$/],
	])("is told with the %s that was found, but for the nonce", async (_, changes, words) => {
		const { home, answer, claims } = await atLiar();
		await answer({ claims: { ...claims, ...changes } });
		expect(await entriesOf(home)).toMatchObject([
			{ detail: { trigger: { detail: expect.stringMatching(words) } } },
		]);
	});

	test("is told with the issuer that its discovery names", async () => {
		const home = await withProvider(`${env.LIAR_URL}/other`);
		await begin(home, browser());
		const detail = `The discovery of ${env.LIAR_URL}/other names the issuer "${env.LIAR_URL}/plain" instead.`;
		expect(await entriesOf(home)).toMatchObject([{ detail: { trigger: { detail } } }]);
	});

	test("is rejected if it sends no ID token", async () => {
		const { answer } = await atLiar();
		expect(await answer({})).toEqual({ problem: "invalid_response" });
	});

	test("is rejected if another provider's response is passed on to it", async () => {
		const { answer, claims } = await atLiar("named");
		const iss = "https://elsewhere.example.com";
		expect(await answer({ claims }, { iss })).toEqual({ problem: "invalid_response" });
		const { answer: again, claims: own } = await atLiar("named");
		expect(await again({ claims: own })).toEqual({ problem: "invalid_response" });
		const right = await atLiar("named");
		expect(await right.answer({ claims: right.claims }, { iss: right.issuer })).toEqual({ token });
	});

	test.each([
		["redirects to another host", "redirect", "provider_unavailable"],
		["sends 10 MB", "huge", "invalid_response"],
		["sends no JSON", "broken", "invalid_response"],
		["says that it is another issuer", "other", "invalid_response"],
	])("that %s is rejected", async (_, kind, problem) => {
		const home = await withProvider(`${env.LIAR_URL}/${kind}`);
		const { pathname, hash } = await begin(home, browser());
		expect(pathname + hash).toBe(`/console/sign_in#problem=${problem}`);
		expect(await entriesOf(home)).toMatchObject([{ detail: { trigger: { code: problem } } }]);
	});

	test.each<[string, unknown]>([
		["authorization_endpoint", "javascript:alert(1)"],
		["authorization_endpoint", 5],
		["issuer", null],
		["issuer", "x"],
	])("whose discovery has the %s %j is rejected before", async (name, value) => {
		const home = await withProvider(`${env.LIAR_URL}/${saying({ discovery: { [name]: value } })}`);
		const { hash } = await begin(home, browser());
		expect(hash).toMatch(/^#problem=(provider_unavailable|invalid_response)$/);
	});

	test.each<[string, unknown]>([
		["jwks_uri", ["x"]],
		["jwks_uri", "x"],
		["token_endpoint", {}],
		["id_token_signing_alg_values_supported", ["none"]],
	])("whose discovery has the %s %j is rejected after", async (name, value) => {
		const { answer, claims } = await atLiar(saying({ discovery: { [name]: value } }));
		expect(await answer({ claims })).toEqual({ problem: "invalid_response" });
	});

	test("whose discovery has no list of ways to authenticate gets the usual one", async () => {
		const token_endpoint_auth_methods_supported = 5;
		const { answer, claims } = await atLiar(
			saying({ discovery: { token_endpoint_auth_methods_supported } }),
		);
		expect(await answer({ claims })).toEqual({ token });
	});

	test.each<[string, unknown]>([
		["no keys", []],
		["keys that are no objects", [5, null]],
		["a key without its numbers", [{ kty: "RSA", kid: "1", use: "sig" }]],
		["keys that are no list", "none"],
	])("that publishes %s is rejected", async (_, keys) => {
		const { answer, claims } = await atLiar(saying({ keys: { keys } }));
		expect(await answer({ claims })).toEqual({ problem: "invalid_response" });
	});

	test.each<[string, unknown]>([
		["denies", false],
		["denies in another form", "0"],
	])(
		"whose userinfo %s that it has verified the address is believed",
		async (_, email_verified) => {
			const { answer, claims } = await atLiar();
			const { email, ...rest } = claims;
			const userinfo = { sub: claims.sub, email, email_verified };
			expect(await answer({ claims: { ...rest, email_verified: true }, userinfo })).toEqual({
				problem: "email_not_verified",
			});
		},
	);

	test("whose userinfo has the address signs in", async () => {
		const { answer, claims } = await atLiar();
		const { email, ...rest } = claims;
		expect(await answer({ claims: rest, userinfo: { sub: claims.sub, email } })).toEqual({ token });
	});

	test("that hangs is rejected", async () => {
		const home = await withProvider(`${env.LIAR_URL}/hang`);
		const { hash } = await withoutPatience(() => begin(home, browser()));
		expect(hash).toBe("#problem=provider_unavailable");
	});

	test.each([
		"http://10.0.0.1",
		"https://localhost",
		"https://[::1]:8443",
		"https://metadata.internal",
	])("on the private host %s isn't asked", async (issuer) => {
		const home = await withProvider(issuer);
		const own = browser({ ALLOW_PRIVATE_DESTINATIONS: "false" });
		const { hash } = await begin(home, own);
		expect(hash).toMatch(/^#problem=(provider_unavailable|invalid_response)$/);
	});

	test("is asked only for a verified domain that has one", async () => {
		const missing = await begin({ path: `/sso/oidc/${v7()}` }, browser());
		expect(missing.hash).toBe("#problem=not_configured");
		for (const columns of [
			{ verified_at: null },
			{ oidc_issuer: "" },
			{ oidc_client_id: null },
			{ oidc_client_secret: null },
		]) {
			const home = await withProvider();
			await home.set(columns);
			expect((await begin(home, browser())).hash).toBe("#problem=not_configured");
		}
	});

	test("can't use the secret of another domain", async () => {
		const [home, other] = [await withProvider(), await withProvider()];
		await home.set({ oidc_client_secret: await seal(env, other.domain_id, CLIENT.secret) });
		expect((await begin(home, browser())).hash).toBe("#problem=not_configured");
	});
});

test("a deactivated user and a service account can't sign in through a provider", async () => {
	for (const columns of [{ is_active: false }, { is_service_account: true }]) {
		const home = await withProvider();
		const user = await home.colleague();
		expect(await signIn(home, { email: user.email })).toEqual({ token });
		await db.update(users).set(columns).where(eq(users.id, user.id));
		expect(await signIn(home, { email: user.email })).toEqual({ problem: "account_deactivated" });
	}
});
