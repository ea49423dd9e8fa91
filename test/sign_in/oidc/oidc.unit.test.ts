import * as oauth from "oauth4webapi";
import { describe, expect, test } from "vitest";
import { authorizationUrl, verifyIdToken } from "../../../src/sign_in/oidc/oidc.ts";
import { type Lie, lie } from "../../support/liar.ts";
import { MISLEADING, saying, UNVERIFIABLE } from "./lies.ts";

const NONCE = oauth.generateRandomNonce();
const STATE = oauth.generateRandomState();
const REDIRECT_URI = "https://app.tenantry.test/callback";
const EMAIL = "ada@example.com";

/** Requests that a liar in this process answers. */
const options = {
	[oauth.customFetch]: async (
		url: string,
		{ headers, body }: oauth.CustomFetchOptions<string, unknown>,
	) => {
		const [, issuer = "", path = ""] = /^(https:\/\/liar\.test\/\w+)(.*)/.exec(url) ?? [];
		const form = new URLSearchParams(String(body));
		const answer = lie(issuer, path, { authorization: headers.authorization, form });
		return Response.json(answer.body, { status: answer.status ?? 200 });
	},
	[oauth.allowInsecureRequests]: false,
};

const connectionTo = (kind: string) => ({
	...{ connection: "oidc:1", domain_id: "1", organization_id: 1 },
	issuer: `https://liar.test/${kind}`,
	...{ client_id: "tenantry", client_secret: "the-client-secret-of-nobody" },
});

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const past = inSeconds(-3600);

/** The claims of a valid ID token. */
const claimsAt = (kind = "plain"): Record<string, unknown> => ({
	...{ iss: `https://liar.test/${kind}`, aud: "tenantry", iat: inSeconds(0), exp: inSeconds(60) },
	...{ sub: "1", email: EMAIL, nonce: NONCE },
});

/** Verifies what a liar gives for a code. */
function answer(told: Lie, { kind = "plain", query = {} } = {}) {
	const code = Buffer.from(JSON.stringify(told)).toString("base64url");
	const url = new URL(`${REDIRECT_URI}?${new URLSearchParams({ code, state: STATE, ...query })}`);
	const pending = { nonce: NONCE, verifier: oauth.generateRandomCodeVerifier() };
	const callback = { url, redirect_uri: REDIRECT_URI, state: STATE, pending };
	return verifyIdToken(options, connectionTo(kind), callback);
}

/** The same, with claims that differ from valid ones. */
const claiming = (changes: Record<string, unknown>, more: Partial<Lie> = {}) =>
	answer({ claims: { ...claimsAt(), ...changes }, ...more });

const rejected = { code: "invalid_response" };

describe("an ID token", () => {
	test.each<[string, Record<string, unknown>]>([
		["that is valid", {}],
		["of a clock that is a minute behind", { iat: inSeconds(-400), exp: inSeconds(-60) }],
		[
			"of a clock that is a minute ahead",
			{ iat: inSeconds(60), nbf: inSeconds(60), exp: inSeconds(600) },
		],
	])("%s says who it is", async (_, changes) => {
		expect(await claiming(changes)).toMatchObject({ subject: "1", email: EMAIL });
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
	])("%s is rejected", async (_, changes, more) => {
		await expect(claiming(changes, more)).rejects.toMatchObject(rejected);
	});

	test("that is missing is rejected", async () => {
		await expect(answer({})).rejects.toMatchObject(rejected);
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
	])("is rejected with the %s that was found, but for the nonce", async (_, changes, words) => {
		await expect(claiming(changes)).rejects.toThrow(words);
	});

	test("is rejected if another provider's response is passed on", async () => {
		const kind = "named";
		const told = { claims: claimsAt(kind) };
		const iss = "https://elsewhere.example.com";
		await expect(answer(told, { kind, query: { iss } })).rejects.toMatchObject(rejected);
		await expect(answer(told, { kind })).rejects.toMatchObject(rejected);
		const { issuer } = connectionTo(kind);
		expect(await answer(told, { kind, query: { iss: issuer } })).toMatchObject({ subject: "1" });
	});
});

describe("userinfo", () => {
	const userinfo = { sub: "1", email: EMAIL, email_verified: true };

	test.each([
		["null", null],
		["empty", ""],
		["missing", undefined],
		["true", true],
		["a list", ["ada@example.com"]],
		["no address", "ada"],
	])("is asked if the address in the ID token is %s", async (_, email) => {
		expect(await claiming({ email }, { userinfo })).toMatchObject({ email: EMAIL });
	});

	test("isn't asked if the ID token has an address", async () => {
		const other = { sub: "somebody else" };
		expect(await claiming({}, { userinfo: other })).toMatchObject({ subject: "1" });
	});

	test.each<[string, Record<string, unknown>, string]>([
		["about somebody else", { sub: "somebody else" }, "invalid_response"],
		["without an address either", { email: null }, "email_missing"],
	])("%s is rejected", async (_, changes, code) => {
		const more = { userinfo: { ...userinfo, ...changes } };
		await expect(claiming({ email: "" }, more)).rejects.toMatchObject({ code });
	});

	test.each([false, "0"])("is believed if email_verified is %j", async (email_verified) => {
		const told = { userinfo: { ...userinfo, email_verified } };
		expect(await claiming({ email: undefined, email_verified: true }, told)).toMatchObject({
			is_email_verified: false,
		});
	});
});

describe("a discovery", () => {
	const urlAt = (discovery: object) => {
		const pending = { nonce: NONCE, verifier: "x" };
		const request = { redirect_uri: REDIRECT_URI, state: STATE, email: undefined, pending };
		return authorizationUrl(options, connectionTo(saying({ discovery })), request);
	};

	test("that is valid leads to its authorization_endpoint", async () => {
		const authorization_endpoint = "https://liar.test/own/authorize";
		expect(`${await urlAt({ authorization_endpoint })}`).toContain(`${authorization_endpoint}?`);
	});

	test.each(MISLEADING)("with the %s %j leads nowhere", async (name, value) => {
		await expect(urlAt({ [name]: value })).rejects.toMatchObject({
			code: expect.stringMatching(/^(provider_unavailable|invalid_response)$/),
		});
	});

	test.each(UNVERIFIABLE)("with %s verifies nothing", async (_, said) => {
		const kind = saying(said);
		await expect(answer({ claims: claimsAt(kind) }, { kind })).rejects.toMatchObject(rejected);
	});

	test("without a list of ways to authenticate means the usual one", async () => {
		const kind = saying({ discovery: { token_endpoint_auth_methods_supported: 5 } });
		expect(await answer({ claims: claimsAt(kind) }, { kind })).toMatchObject({ subject: "1" });
	});
});
