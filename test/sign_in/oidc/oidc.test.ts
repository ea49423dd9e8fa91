import { env } from "cloudflare:workers";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { signInStates } from "../../../src/db/schema/sign_in.ts";
import { seal } from "../../../src/organizations/domains/connections.ts";
import type { Lie, Said } from "../../support/liar.ts";
import { withoutPatience } from "../../support/time.ts";
import { db } from "../../support/world.ts";
import { complete } from "../link/support.ts";
import { atLiar, begin, browser, CLIENT, type Home, signInAt, withProvider } from "./browser.ts";
import { KEY_WITHOUT_NUMBERS, saying } from "./lies.ts";
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
	])("each end once, %s", async (_, order) => {
		const { own, callbacks } = await started(2);
		const cookies = new Map(own.cookies);
		for (const callback of order(callbacks))
			expect(outcomeOf(await own.open(callback))).toEqual({ token });
		expect([...own.cookies.keys()]).toEqual([]);
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
		for (let i = 0; i < 5; i++) await begin(home, own, { site: "cross-site" });
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

describe("a provider", () => {
	test("that tells the truth signs in", async () => {
		const { answer, claims } = await atLiar();
		expect(await answer({ claims })).toEqual({ token });
	});

	test("that sends a wrong ID token is rejected, which the admins find in the log", async () => {
		const { home, user, answer, claims } = await atLiar();
		const aud = "another";
		expect(await answer({ claims: { ...claims, aud } })).toEqual({ problem: "invalid_response" });
		expect(await identitiesOf(user)).toEqual([]);
		const detail = `The ID token's aud is "another", not "tenantry".`;
		expect(await entriesOf(home)).toMatchObject([{ detail: { trigger: { detail } } }]);
	});

	test.each<[string, Said, Partial<Lie>]>([
		["publishes a key without its numbers", KEY_WITHOUT_NUMBERS, {}],
		["signs with another key than it publishes", {}, { signature: "another key" }],
	])("that %s is rejected", async (_, said, lie) => {
		const { user, answer, claims } = await atLiar(saying(said));
		expect(await answer({ claims, ...lie })).toEqual({ problem: "invalid_response" });
		expect(await identitiesOf(user)).toEqual([]);
	});

	test("is told with the issuer that its discovery names", async () => {
		const home = await withProvider(`${env.LIAR_URL}/other`);
		await begin(home, browser());
		const detail = `The discovery of ${env.LIAR_URL}/other names the issuer "${env.LIAR_URL}/plain" instead.`;
		expect(await entriesOf(home)).toMatchObject([{ detail: { trigger: { detail } } }]);
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

	test("that hangs is rejected", async () => {
		const home = await withProvider(`${env.LIAR_URL}/hang`);
		const { hash } = await withoutPatience(() => begin(home, browser()));
		expect(hash).toBe("#problem=provider_unavailable");
	});

	test.each(["http://10.0.0.1", "https://localhost"])(
		"on the private host %s isn't asked",
		async (issuer) => {
			const home = await withProvider(issuer);
			const own = browser({ ALLOW_PRIVATE_DESTINATIONS: "false" });
			const { hash } = await begin(home, own);
			expect(hash).toMatch(/^#problem=(provider_unavailable|invalid_response)$/);
		},
	);

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
