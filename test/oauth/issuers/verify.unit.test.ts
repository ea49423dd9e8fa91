import { createLocalJWKSet, type JWK, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, test } from "vitest";
import { create } from "../../../src/oauth/issuers/shape.ts";
import { matches } from "../../../src/oauth/issuers/subject.ts";
import { verify } from "../../../src/oauth/issuers/verify.ts";
import { problemOf } from "../../support/problems.ts";
import { AUDIENCE, inSeconds, newPair, SUBJECT, signToken } from "./tokens.ts";

const ISSUER = "https://issuer.test";
const TRUST = {
	...{ issuer: ISSUER, audience: AUDIENCE, subject: SUBJECT },
	claims: { environment: "production" },
};

const [pair, stranger] = await Promise.all([newPair("ES256"), newPair("ES256")]);

const sign = (claims: Record<string, unknown> = {}, header: object = {}) =>
	signToken(pair, { iss: ISSUER, environment: "production", ...claims }, header);

/** Verifies a token of the issuer, which publishes these keys. */
const read = (token: string, trust: Partial<typeof TRUST> = {}, keys: JWK[] = [pair.jwk]) =>
	verify(createLocalJWKSet({ keys }), { ...TRUST, ...trust }, token);

const unfinished = { iss: ISSUER, aud: AUDIENCE, sub: SUBJECT };

const withChangedClaims = async () => {
	const [header, , signature] = (await sign({ environment: "test" })).split(".");
	const [, payload] = (await sign()).split(".");
	return [header, payload, signature].join(".");
};

test.each<[string, () => string | Promise<string>, string]>([
	["of another issuer", () => sign({ iss: "https://other.test" }), "another issuer: iss is"],
	[
		"whose issuer only begins like the trusted one",
		() => sign({ iss: `${ISSUER}/` }),
		"another issuer",
	],
	["without an issuer", () => sign({ iss: undefined }), "another issuer"],
	["of a stranger who claims to be it", () => signToken(stranger, { iss: ISSUER }), "(kid)"],
	[
		"of a stranger who also names its key",
		() => signToken({ ...stranger, kid: pair.kid }, { iss: ISSUER, environment: "production" }),
		"invalid signature",
	],
	[
		"for another audience",
		() => sign({ aud: "https://other.example" }),
		'audience: aud is "https://other.example"',
	],
	["for several audiences", () => sign({ aud: [AUDIENCE, "https://b.test"] }), "another audience"],
	["without an audience", () => sign({ aud: undefined }), "another audience"],
	["about another subject", () => sign({ sub: `${SUBJECT}2` }), `subject: sub is "${SUBJECT}2"`],
	["about a number", () => sign({ sub: 7 }), "subject: sub is 7"],
	["without a subject", () => sign({ sub: undefined }), "(sub)"],
	["with another claim", () => sign({ environment: "Production" }), 'environment is "Production"'],
	["with a claim of another type", () => sign({ environment: ["production"] }), "environment is"],
	["without a claim", () => sign({ environment: undefined }), "environment is nothing"],
	["that has expired", () => sign({ exp: inSeconds(-180) }), "(exp)"],
	["that never expires", () => sign({ exp: undefined }), "(exp)"],
	["that isn't valid yet", () => sign({ nbf: inSeconds(600) }), "(nbf)"],
	["that was issued in the future", () => sign({ iat: inSeconds(600) }), "(iat)"],
	["that was issued long ago", () => sign({ iat: inSeconds(-4000) }), "(iat)"],
	["that doesn't say when it was issued", () => sign({ iat: undefined }), "(iat)"],
	["that names an unknown key", () => sign({}, { kid: "unknown" }), "(kid)"],
	["that isn't a JWT", () => "a.b.signature", "isn't a JWT"],
	[
		"without a signature",
		() => new UnsecuredJWT(unfinished).setIssuedAt().setExpirationTime("5m").encode(),
		"(alg)",
	],
	[
		"that is signed with the public key as a secret",
		() =>
			new SignJWT(unfinished)
				.setIssuedAt()
				.setExpirationTime("5m")
				.setProtectedHeader({ alg: "HS256", kid: pair.kid })
				.sign(new TextEncoder().encode(JSON.stringify(pair.jwk))),
		"(alg)",
	],
	["whose claims were changed", withChangedClaims, "invalid signature"],
])("a token %s is rejected, and isn't in the error", async (_, make, why) => {
	const token = await make();
	const error = await read(token).catch((error) => error);
	expect(error.message).toContain(why);
	expect(error.message).not.toContain(token.split(".").at(-1) || "\n");
});

test.each<[string, Record<string, unknown>]>([
	["that fulfils all rules", {}],
	["for a list with one audience", { aud: [AUDIENCE] }],
	["of an issuer whose clock is a minute behind", { exp: inSeconds(-60) }],
	["of an issuer whose clock is a minute ahead", { iat: inSeconds(60), nbf: inSeconds(60) }],
])("a token %s is about its subject", async (_, claims) => {
	expect(await read(await sign(claims))).toBe(SUBJECT);
});

test.each(["RS256", "PS256", "EdDSA"])("a token can be signed with %s", async (alg) => {
	const other = await newPair(alg);
	const token = await signToken(other, { iss: ISSUER, environment: "production" });
	expect(await read(token, {}, [other.jwk])).toBe(SUBJECT);
});

test.each([
	["isn't one", { kty: "RSA", n: "!", e: "AQAB" }],
	["has 1,024 bits", { kty: "RSA", n: "A".repeat(171), e: "AQAB" }],
])("a token is rejected if the issuer's key %s", async (_, key) => {
	const rsa = await newPair("RS256");
	const token = await signToken(rsa, { iss: ISSUER, environment: "production" });
	const keys = [{ ...key, kid: rsa.kid, alg: "RS256", use: "sig" }];
	await expect(read(token, {}, keys)).rejects.toThrow(/key that can't be used|isn't a JWT/);
});

test("a subject ends with a * only after two parts, and is otherwise exact", async () => {
	expect(matches("repo:octo-org/*", SUBJECT)).toBe(true);
	expect(matches("repo:octo-org/*", "repo:octo-org2/website")).toBe(false);
	expect(matches("repo:octo-org/website:*", "repo:octo-org/website")).toBe(false);
	expect(matches("a.c", "abc")).toBe(false);
	const subject = "repo:octo-org/website:*";
	expect(await read(await sign(), { subject })).toBe(SUBJECT);
	const other = sign({ sub: "repo:octo-org/website-2:ref:refs/heads/main" });
	await expect(read(await other, { subject })).rejects.toThrow("another subject");
});

describe("the rules of a trusted issuer", () => {
	const BODY = {
		...{ name: "Builds", issuer: ISSUER, subject: SUBJECT },
		scopes: ["project:read"],
	};
	const problem = (more: object) => problemOf(create, { ...BODY, ...more });

	test.each([
		["issuer", "token.actions.githubusercontent.com"],
		["issuer", "ftp://192.0.2.1"],
		["issuer", "https://user@192.0.2.1"],
		["issuer", "https://192.0.2.1/?a=b"],
		["issuer", "https://192.0.2.1/#a"],
		["issuer", ""],
		["subject", ""],
		["subject", "*"],
		["subject", "repo:*"],
		["subject", "repo:octo-org*"],
		["subject", "repo:*:ref"],
		["subject", "repo:octo-org/*:*"],
		["subject", "//::*"],
		["audience", ""],
	])("can't have the %s '%s'", async (attr, value) => {
		expect(await problem({ [attr]: value })).toMatchObject({ attr });
	});

	test("have at most 20 claims, which are texts, and need their fields", async () => {
		const many = (n: number) =>
			Object.fromEntries(Array.from({ length: n }, (_, i) => [`c${i}`, "x"]));
		expect(await problem({ claims: many(20) })).toBeUndefined();
		const tooMany = { code: "max_length", attr: "claims" };
		expect(await problem({ claims: many(21) })).toMatchObject(tooMany);
		for (const value of [1, true, null, ["x"]])
			expect(await problem({ claims: { c: value } })).toMatchObject({ attr: "claims__c" });
		for (const attr of ["name", "issuer", "subject", "scopes"])
			expect(await problem({ [attr]: undefined })).toMatchObject({ code: "required", attr });
		expect(await problem({ scopes: [] })).toMatchObject({ attr: "scopes" });
	});
});
