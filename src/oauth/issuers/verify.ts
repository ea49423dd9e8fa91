import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { trustedIssuers } from "../../db/schema/oauth.ts";
import { CLOCK_TOLERANCE_MS } from "../../lib/time.ts";
import { OauthError } from "../protocol/errors.ts";
import { IssuerError } from "./signing_keys.ts";
import { matches } from "./subject.ts";

/** Asymmetric only: with any other, whoever knows the public key could sign. */
const ALGORITHMS = [
	...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
	...["ES256", "ES384", "ES512", "EdDSA"],
];

/** How long after it was issued a token can be exchanged, if it doesn't expire earlier. */
const MAX_AGE_SECONDS = 3600;

type Trust = Pick<typeof trustedIssuers.$inferSelect, "issuer" | "audience" | "subject" | "claims">;

/** RFC 8693, section 2.2.2. */
const rejected = (why: string) => new OauthError("invalid_request", `The subject_token ${why}`);

/** Returns a value of the token for an error message: visible ASCII (RFC 6749, section 5.2). */
const quoted = (value: unknown) =>
	(JSON.stringify(value) ?? "nothing").replace(/[^\x20-\x7e]/g, "?").slice(0, 200);

/** Why the library rejected a token. */
function toOauthError(error: unknown) {
	if (error instanceof IssuerError)
		return rejected(
			`can't be verified, because its issuer's keys can't be fetched: ${error.message}`,
		);
	if (error instanceof errors.JWTExpired)
		return rejected(error.claim === "iat" ? "is too old (iat)." : "has expired (exp).");
	if (error instanceof errors.JWTClaimValidationFailed)
		return rejected(`isn't valid now, or lacks a claim (${error.claim}).`);
	if (error instanceof errors.JOSEAlgNotAllowed)
		return rejected("has an algorithm that isn't accepted (alg).");
	if (error instanceof errors.JWKSNoMatchingKey)
		return rejected("names a key that its issuer doesn't have (kid).");
	if (error instanceof errors.JWSSignatureVerificationFailed)
		return rejected("has an invalid signature.");
	// An RSA key that is too short, or something that isn't a key.
	if (error instanceof TypeError || error instanceof DOMException)
		return rejected("is signed with a key that can't be used.");
	return error instanceof errors.JOSEError ? rejected("isn't a JWT that can be verified.") : error;
}

/**
 * Checks the claims of a token. The error quotes the token's values, never the configured ones.
 * @returns its subject
 * @throws OauthError
 */
function checkClaims({ audience, subject, claims }: Trust, payload: JWTPayload) {
	const { aud, sub } = payload;
	// With a second audience, the other one could exchange the token, too.
	if (JSON.stringify([aud].flat()) !== JSON.stringify([audience]))
		throw rejected(`is for another audience: aud is ${quoted(aud)}.`);
	// The library doesn't check that it is a text.
	if (typeof sub !== "string" || !matches(subject, sub))
		throw rejected(`is about another subject: sub is ${quoted(sub)}.`);
	for (const [name, value] of Object.entries(claims))
		if (payload[name] !== value)
			throw rejected(`has another claim: ${name} is ${quoted(payload[name])}.`);
	return sub;
}

/**
 * Verifies the token of an issuer (docs/oauth.md#what-is-checked).
 * @param findKey returns the key of the issuer that a token names
 * @returns its subject
 * @throws OauthError that says which check failed
 */
export async function verify(
	findKey: JWTVerifyGetKey,
	trust: Trust,
	token: string,
): Promise<string> {
	const decode = async () => decodeJwt(token);
	const { iss } = await decode().catch((error) => {
		throw toOauthError(error);
	});
	// Before the keys are fetched. The signature then proves it.
	if (iss !== trust.issuer) throw rejected(`is of another issuer: iss is ${quoted(iss)}.`);
	const { payload } = await jwtVerify(token, findKey, {
		algorithms: ALGORITHMS,
		requiredClaims: ["exp", "sub"],
		maxTokenAge: MAX_AGE_SECONDS,
		clockTolerance: CLOCK_TOLERANCE_MS / 1000,
	}).catch((error) => {
		throw toOauthError(error);
	});
	return checkClaims(trust, payload);
}
