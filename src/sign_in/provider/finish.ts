import type { Context } from "hono";
import { commit } from "../../access/unit_of_work.ts";
import { connect } from "../../db/bookmark.ts";
import type { App } from "../../env.ts";
import { isTooOften } from "../../keys/network_limits.ts";
import { ownPages } from "../../outbound/console.ts";
import { expired, SignInError } from "./problems.ts";
import { Finished, type Started, type Verified } from "./shape.ts";
import { signIn } from "./sign_in.ts";
import { redirectTo, takeState, vouch } from "./state.ts";
import { endTest } from "./trial.ts";

/**
 * Ends a sign-in that this browser started: leads to the console's page with a link that signs in,
 * as one from a mail does.
 * @throws SignInError if this account at the provider can't sign in
 */
export async function signInWith(c: Context<App>, who: Verified, started: Started) {
	if (started.test) return endTest(c, started, { who });
	const token = await signIn(c, who);
	if (started.is_own) vouch(c, token);
	return redirectTo(c, `${ownPages.signIn}#token=${token}`);
}

/** Ends the sign-in that `storeFinish` stored. */
export async function finish(c: Context<App>, token: string) {
	const data = await takeState(c, { kind: "finish", token });
	if (!data) return fail(c, expired());
	const { who, started } = Finished.parse(data);
	return signInWith(c, who, started).catch((error) => fail(c, error, started));
}

/** Ends a sign-in that failed. Throws errors that aren't about the sign-in. */
export async function fail(c: Context<App>, error: unknown, started?: Started) {
	if (!(error instanceof SignInError)) throw error;
	const { code, message, about } = error;
	if (started?.test)
		return endTest(c, started, { problem: code, detail: message, claims: about.claims });
	const organization = about.organization_id ?? started?.organization_id;
	if (started && organization && (await mayLog(c, started)))
		await log(c, error, { ...started, organization_id: organization });
	return redirectTo(c, `${ownPages.signIn}#problem=${code}`);
}

/** So that nobody fills a log: ten entries a minute from a network. */
const mayLog = async (c: Context<App>, { connection }: Started) =>
	!(await isTooOften(c, connection, 10));

/** Writes the entry for the admin, which is all that a sign-in that fails writes. */
async function log(c: Context<App>, error: SignInError, started: Started) {
	const { connection, domain_id, organization_id } = started;
	const { db } = connect(c, "first-primary");
	const entry = {
		scope: "SignIn" as const,
		activity: "failed" as const,
		item_id: domain_id ?? connection,
		name: error.about.email ?? "",
		user_id: null,
		organization: organization_id,
		project: null,
		trigger: { job: "sign_in", connection, code: error.code, detail: error.message },
	};
	await commit(c.env, db, { entries: [entry] }, c);
}
