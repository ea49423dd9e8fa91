/**
 * The tokens with which exports and audit streams sign in to clouds, instead of with stored keys
 * (docs/exports.md#without-stored-keys, docs/internals/decisions/0021-workload-tokens.md).
 */
import { drizzle } from "drizzle-orm/d1";
import { MINUTE_MS } from "../lib/time.ts";
import { selectSigner, sign } from "./signing_keys.ts";

/** How long a token can be exchanged. */
const TOKEN_SECONDS = 600;

/** How long before it was issued a token is valid, for clouds whose clock is late. */
const CLOCK_TOLERANCE_SECONDS = MINUTE_MS / 1000;

/** Returns the issuer of tokens; null if clouds can't reach this service. */
export function tokenIssuer({ APP_URL }: Pick<Env, "APP_URL">) {
	const url = URL.parse(APP_URL);
	return url?.protocol === "https:" ? url.origin : null;
}

/** Issues a token (RFC 7519) about an export or a stream, for one audience. */
export async function issueWorkloadToken(env: Env, sub: string, aud: string): Promise<string> {
	const [signer] = await selectSigner(drizzle(env.DB), Date.now(), "RS256");
	const now = Math.floor(Date.now() / 1000);
	return sign(env, signer, "JWT", {
		sub,
		aud,
		jti: crypto.randomUUID(),
		nbf: now - CLOCK_TOLERANCE_SECONDS,
		exp: now + TOKEN_SECONDS,
	});
}
