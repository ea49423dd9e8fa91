import { and, eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import type * as z from "zod";
import { commit, retry } from "../../access/unit_of_work.ts";
import { connect } from "../../db/bookmark.ts";
import { assertThat } from "../../db/client.ts";
import { isActivePerson, users } from "../../db/schema/people.ts";
import { passkeys, signInStates, signIns } from "../../db/schema/sign_in.ts";
import type { App } from "../../env.ts";
import { ApiError } from "../../http/errors.ts";
import type { Assertion } from "../../isolates/webauthn/worker.ts";
import { countFailure } from "../../keys/addresses.ts";
import { digest, newToken } from "../../keys/keys.ts";
import { iso, MINUTE_MS } from "../../lib/time.ts";
import { isOpenChallenge, newChallenge, referenceOf, requestOf } from "../webauthn/challenges.ts";
import type { PasskeyRequest } from "../webauthn/shape.ts";
import {
	handleOf,
	invalidPasskey,
	isStillUnused,
	recordUse,
	siteOf,
	verifyUse,
} from "../webauthn/verify.ts";
import { findSignIn } from "./find.ts";
import type { SignInToken } from "./shape.ts";

/* Signing in with a passkey (docs/keys.md#passkeys). */

/** How long the token of a passkey can be completed. */
const TOKEN_MS = MINUTE_MS;

/**
 * Returns the options with which a browser uses a passkey.
 * @param token of a link: the passkey is its second factor. Without one, it is the whole sign-in
 * @throws the errors of `findSignIn`
 */
export async function options(
	c: Context<App>,
	token: string | undefined,
): Promise<z.infer<typeof PasskeyRequest>> {
	const site = siteOf(c.env, c.req.url);
	const factor = token === undefined ? undefined : (await findSignIn(c, token)).factor;
	const { db } = connect(c, "first-primary");
	const { challenge, insertion } = await (factor
		? newChallenge(db, "passkey_proof", factor.user_id)
		: newChallenge(db, "passkey_sign_in", null));
	await db.batch([insertion]);
	return requestOf(site, challenge, factor?.passkeys);
}

/**
 * Verifies a passkey whose device has verified the user. Like a mailed link, the token that it
 * returns signs in with `complete`, which needs no second factor then.
 * @throws 400 if anything is wrong with it, also if its user can't sign in; 429 after too many
 * wrong ones
 */
export const verifyPasskey = (
	c: Context<App>,
	assertion: Assertion,
): Promise<z.infer<typeof SignInToken>> =>
	retry(() => tryToVerify(c, assertion)).catch(async (error: unknown) => {
		const isWrong = error instanceof ApiError && error.body.code === "invalid_passkey";
		throw isWrong ? await countFailure(c, error) : error;
	});

async function tryToVerify(c: Context<App>, assertion: Assertion) {
	const { db } = connect(c, "first-primary");
	const { credential_id, hash } = await referenceOf(assertion);
	const isOpen = isOpenChallenge("passkey_sign_in", hash);
	const [[row]] = await db.batch([
		db
			.select({
				user_id: users.id,
				uuid: users.uuid,
				signed: {
					credential_id: passkeys.credential_id,
					public_key: passkeys.public_key,
					sign_count: passkeys.sign_count,
					hash: signInStates.hash,
				},
			})
			.from(passkeys)
			.innerJoin(users, and(eq(users.id, passkeys.user_id), isActivePerson))
			.innerJoin(signInStates, isOpen)
			.where(eq(passkeys.credential_id, credential_id)),
	]);
	const use = await verifyUse(c.env, c.req.url, {
		assertion,
		signed: row?.signed ?? null,
		isUserVerified: true,
	});
	if (!row || assertion.response.userHandle !== handleOf(row.uuid)) throw invalidPasskey();
	const token = newToken();
	await commit(
		c.env,
		db,
		{
			checks: [
				assertThat(
					db,
					sql`${isStillUnused(use)} and exists (select 1 from ${users} where ${and(eq(users.id, row.user_id), isActivePerson)})`,
					"is_current",
				),
			],
			changes: [
				...recordUse(db, use),
				db.insert(signIns).values({
					user_id: row.user_id,
					token_hash: await digest(token),
					expires_at: iso(Date.now() + TOKEN_MS),
					method: "passkey",
					has_factor: true,
				}),
			],
		},
		c,
	);
	return { token };
}
