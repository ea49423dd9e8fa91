/** Tokens of an issuer that a service account trusts. */
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { v7 } from "uuid";

/** The audience of tokens: where the tests' APP_URL is. */
export const AUDIENCE = "https://app.tenantry.test";

export const SUBJECT = "repo:octo-org/website:ref:refs/heads/main";

/** Returns the time in seconds since 1970, this many seconds from now. */
export const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

/** Creates a key pair with an id. */
export async function newPair(alg: string) {
	const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
	const kid = v7();
	return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

/** Signs a token with these claims, of which undefined ones are left out. */
export const signToken = (
	{ alg, kid, privateKey }: Awaited<ReturnType<typeof newPair>>,
	claims: Record<string, unknown>,
	header: object = {},
) =>
	new SignJWT({
		...{ aud: AUDIENCE, sub: SUBJECT, iat: inSeconds(0), exp: inSeconds(300) },
		...claims,
	})
		.setProtectedHeader({ alg, kid, typ: "JWT", ...header })
		.sign(privateKey);
