import type { Context } from "hono";
import type * as z from "zod";
import { originOf } from "../../access/origin.ts";
import { commit, retry } from "../../access/unit_of_work.ts";
import type { App } from "../../env.ts";
import { ApiError, invalid, orNotFound } from "../../http/errors.ts";
import { addressOf } from "../../keys/addresses.ts";
import { remember } from "../../keys/rows.ts";
import { factorEnabled, keysRevoked, mailChange } from "../../people/users/mails.ts";
import { type Given, hasFactor, isGiven, type Proof, proofRequired, prove } from "../totp/proof.ts";
import { newRecoveryCodes, rowsOf } from "../totp/recovery_codes.ts";
import { tellOwners } from "./break_glass.ts";
import { findSignIn, type SignIn } from "./find.ts";
import { setKey } from "./key_cookie.ts";
import {
	chooseRemoved,
	chooseRevoked,
	newSession,
	setsUpFactor,
	signingIn,
} from "./login_session.ts";
import type { complete as Body, SignedIn, SignInPreview } from "./shape.ts";

/**
 * Signs in: uses the link, and creates a session, whose cookie the response sets. If another
 * request changes what was checked before the write, nothing is written and the checks run again.
 * @throws 400 if a code is missing or wrong, 429 after too many wrong codes, 409 if other requests
 * interfered each time, and the errors of `findSignIn`
 */
export const complete = (c: Context<App>, { token, ...given }: z.infer<typeof Body>) =>
	retry(async () => {
		const signIn = await findSignIn(c, token, given);
		const proof = await checkFactor(c, signIn, given).catch((error: unknown) => {
			if (isGiven(given) && hasFactor(signIn.factor)) noteFailure(c, signIn, error);
			throw error;
		});
		return write(c, signIn, { proof, removed: chooseRemoved(signIn, proof) });
	});

/**
 * Writes, after the response, that a proof of the second factor was wrong. `countAttempt` and the
 * attempts of a link limit how often.
 */
function noteFailure(c: Context<App>, { db, link, user }: SignIn, error: unknown) {
	if (!(error instanceof ApiError) || error.status !== 400) return;
	const entry = {
		...({ scope: "SignIn", activity: "failed", item_id: user.uuid, name: user.email } as const),
		...{ user_id: user.id, organization: link.organization_id, project: null },
		trigger: { job: "sign_in", code: error.body.code, detail: error.message, method: link.method },
		origin: originOf(c),
	};
	c.executionCtx.waitUntil(commit(c.env, db, { entries: [entry] }));
}

/** Returns the proof of the second factor; undefined if none is needed. */
async function checkFactor(
	{ env, req: { url } }: Context<App>,
	{ link, factor, isCounted }: SignIn,
	given: Given,
): Promise<Proof | undefined> {
	const isSettingUp = !hasFactor(factor);
	// A provider's second factor can be enough, even if the user has set up ours.
	const isNeeded = link.is_required || (!isSettingUp && !link.has_factor);
	const canSetUp = isSettingUp && factor.secret !== null && isGiven(given);
	if (!isNeeded && !canSetUp) return undefined;
	if (isSettingUp && !canSetUp)
		throw invalid(
			"code",
			"Your organization requires a second factor. Set one up, and send a code of it.",
			"two_factor_setup_required",
		);
	if (!isGiven(given)) throw proofRequired();
	return prove(env, { factor, given, isCounted, isSettingUp, url });
}

async function write(
	c: Context<App>,
	signIn: SignIn,
	{ proof, removed }: { proof: Proof | undefined; removed: SignIn["keys"] },
): Promise<z.infer<typeof SignedIn>> {
	const { db, user } = signIn;
	const key = await newSession(signIn, addressOf(c), c.req.header("user-agent"));
	const recovery_codes = setsUpFactor(signIn, proof) ? newRecoveryCodes() : null;
	const newCodes = await rowsOf(c.env, user.id, recovery_codes ?? []);
	const write = signingIn(signIn, { key, proof, removed, newCodes });
	const { users, keys } = await commit(c.env, db, write, c);
	const row = orNotFound(keys[0]);
	await remember(c.env, row);
	const { broken_glass: domain_id, method } = signIn.link;
	if (domain_id)
		c.executionCtx.waitUntil(tellOwners(c.env, user, { domain_id, method, address: addressOf(c) }));
	const revoked = chooseRevoked(signIn).map(({ label }) => label);
	if (revoked.length > 0)
		c.executionCtx.waitUntil(mailChange(c.env, user.id, keysRevoked(revoked), addressOf(c)));
	if (recovery_codes)
		c.executionCtx.waitUntil(mailChange(c.env, user.id, factorEnabled, addressOf(c)));
	setKey(c, key.value, row.max_minutes * 60);
	return { user: orNotFound(users[0]), recovery_codes };
}

/** Returns whom a link signs in, and what that means. Throws the errors of `findSignIn`. */
export async function preview(
	c: Context<App>,
	token: string,
): Promise<z.infer<typeof SignInPreview>> {
	const signIn = await findSignIn(c, token);
	return {
		email: signIn.user.email,
		organization_name: signIn.link.organization_name,
		loses_keys: chooseRevoked(signIn).length > 0,
	};
}
