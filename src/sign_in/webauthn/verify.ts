import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { passkeys, signInStates } from "../../db/schema/sign_in.ts";
import { invalid } from "../../http/errors.ts";
import { verifier } from "../../isolates/webauthn/client.ts";
import type { Assertion, Expected } from "../../isolates/webauthn/worker.ts";
import { toBase64url } from "../../lib/bytes.ts";
import { now } from "../../lib/time.ts";
import { challengeIn, type SignedWith, takeChallenge } from "./challenges.ts";

/**
 * Returns the site that passkeys belong to: the host of `APP_URL` or, without it, `localhost`. Other
 * hosts in a request could be anybody's.
 * @param url the URL of the request
 * @throws 400 if there is no such host
 */
export function siteOf({ APP_URL }: Env, url: string) {
	const { hostname, origin } = new URL(APP_URL === "" ? url : APP_URL);
	if (APP_URL === "" && hostname !== "localhost")
		throw invalid(null, "Passkeys are not configured: APP_URL is not set.");
	return { rp_id: hostname, origin };
}

/**
 * Returns the id by which authenticators know a user: the bytes of the uuid (WebAuthn, section
 * 14.6.1).
 */
export const handleOf = (uuid: string) => toBase64url(Uint8Array.fromHex(uuid.replaceAll("-", "")));

/** The values that must be signed with the challenge in `clientDataJSON`, which may be any. */
export const expectedOf = (env: Env, url: string, clientDataJSON: string): Expected => ({
	...siteOf(env, url),
	challenge: challengeIn(clientDataJSON),
});

/** Returns the same error for each reason, so that it tells nothing about users and passkeys. */
export const invalidPasskey = () =>
	invalid("passkey", "This passkey is unknown, or its signature is invalid.", "invalid_passkey");

/** A verified use of a passkey: its state before and after. */
export type PasskeyUse = SignedWith & { used: { sign_count: number; is_backed_up: boolean } };

/**
 * Verifies the use of a passkey.
 * @param signed the passkey and the challenge; null if there are none
 * @param isUserVerified whether the device must have verified the user
 * @throws 400 if anything is wrong with it
 */
export async function verifyUse(
	env: Env,
	url: string,
	{ assertion, signed, isUserVerified }: Use,
): Promise<PasskeyUse> {
	const expected = expectedOf(env, url, assertion.response.clientDataJSON);
	if (signed === null) throw invalidPasskey();
	const worker = await verifier(env);
	const result = await worker.authenticate(assertion, signed, expected, isUserVerified);
	if ("error" in result) throw invalidPasskey();
	const { sign_count, is_backed_up } = result;
	return { ...signed, used: { sign_count, is_backed_up } };
}

type Use = {
	assertion: Assertion;
	signed: SignedWith | null;
	isUserVerified: boolean;
};

/** SQL condition: no other request has used the challenge or the passkey since they were read. */
export const isStillUnused = ({ credential_id, sign_count, hash }: SignedWith) => sql`(
	exists (select 1 from ${signInStates} where ${signInStates.hash} = ${hash})
	and exists (select 1 from ${passkeys} where ${and(eq(passkeys.credential_id, credential_id), eq(passkeys.sign_count, sign_count))}))`;

/** Returns the statements that store the use, and use up the challenge. */
export const recordUse = (db: Database, { credential_id, hash, used }: PasskeyUse) => [
	db
		.update(passkeys)
		.set({ ...used, last_used_at: now() })
		.where(eq(passkeys.credential_id, credential_id)),
	takeChallenge(db, hash),
];
