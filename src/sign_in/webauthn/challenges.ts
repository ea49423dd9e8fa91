import { and, eq, gt, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Database } from "../../db/client.ts";
import { passkeys, signInStates } from "../../db/schema/sign_in.ts";
import type { Assertion } from "../../isolates/webauthn/worker.ts";
import { digest, newToken } from "../../keys/keys.ts";
import { fromBase64url } from "../../lib/bytes.ts";
import { lazy } from "../../lib/lazy.ts";
import { iso, MINUTE_MS, now } from "../../lib/time.ts";
import { descriptorsOf, type KnownPasskey, type PasskeyRequest } from "./shape.ts";

/** How long a challenge can be signed. */
export const CHALLENGE_MS = 10 * MINUTE_MS;

/** The purpose of a challenge: a new passkey, the second factor, or the whole sign-in. */
type Kind = "passkey_registration" | "passkey_proof" | "passkey_sign_in";

/**
 * Creates a challenge.
 * @param user_id whose passkey must sign it; null: anybody's
 * @returns the challenge, and the statement that stores it
 */
export async function newChallenge(db: Database, kind: Kind, user_id: number | null) {
	const challenge = newToken();
	const row = {
		hash: await digest(challenge),
		kind,
		data: { user_id },
		expires_at: iso(Date.now() + CHALLENGE_MS),
	};
	return { challenge, insertion: db.insert(signInStates).values(row) };
}

/** Returns the options for the use of one of these passkeys; any of the site's if there are none. */
export const requestOf = (
	{ rp_id }: { rp_id: string },
	challenge: string,
	allowed?: KnownPasskey[],
): z.infer<typeof PasskeyRequest> => ({
	challenge,
	rpId: rp_id,
	timeout: CHALLENGE_MS,
	allowCredentials: descriptorsOf(allowed ?? []),
	userVerification: allowed ? "preferred" : "required",
});

const shape = lazy(() => z.object({ challenge: z.string() }));

/** Returns the challenge in `clientDataJSON`; "" if that isn't what browsers return. */
export function challengeIn(clientDataJSON: string): string {
	try {
		const text = new TextDecoder().decode(fromBase64url(clientDataJSON));
		return shape().parse(JSON.parse(text)).challenge;
	} catch {
		return "";
	}
}

/**
 * SQL condition on `sign_in_states`: the challenge was created for this, and hasn't expired or been
 * used.
 */
export const isOpenChallenge = (kind: Kind, hash: string, user_id?: number | SQL) =>
	and(
		eq(signInStates.hash, hash),
		eq(signInStates.kind, kind),
		gt(signInStates.expires_at, now()),
		user_id === undefined ? undefined : sql`${signInStates.data} ->> 'user_id' = ${user_id}`,
	);

/** Returns the statement that uses up a challenge. */
export const takeChallenge = (db: Database, hash: string) =>
	db.delete(signInStates).where(eq(signInStates.hash, hash));

/** The names of a passkey and of the challenge that it has signed. */
export type Reference = { credential_id: string; hash: string };

/** Returns the names in a use of a passkey. */
export const referenceOf = async ({ id, response }: Assertion): Promise<Reference> => ({
	credential_id: id,
	hash: await digest(challengeIn(response.clientDataJSON)),
});

/** A passkey, and the hash of the challenge that it has signed. */
export type SignedWith = {
	credential_id: string;
	public_key: string;
	sign_count: number;
	hash: string;
};

/** SQL for JSON of `SignedWith`; null unless the passkey and the challenge are the user's. */
export const signedWith = ({ credential_id, hash }: Reference, user_id: SQL) =>
	sql`(select json_object('credential_id', ${passkeys.credential_id}, 'public_key', ${passkeys.public_key},
			'sign_count', ${passkeys.sign_count}, 'hash', ${signInStates.hash})
		from ${passkeys}, ${signInStates}
		where ${passkeys.credential_id} = ${credential_id} and ${passkeys.user_id} = ${user_id}
			and ${isOpenChallenge("passkey_proof", hash, user_id)})`.mapWith(
		(json): SignedWith => JSON.parse(json),
	);
