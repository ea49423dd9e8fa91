import type { Context } from "hono";
import type { App } from "../../env.ts";
import { bytesOf } from "../../http/body.ts";
import { expired, fail, redirectTo } from "../sso/finish.ts";
import { isTooOften } from "../sso/limit.ts";
import { SignInError } from "../sso/problems.ts";
import { finishLater } from "../sso/state.ts";
import { inIsolate } from "./client.ts";
import { type Connection, findConnection } from "./connection.ts";
import { tokenOf } from "./start.ts";

/**
 * Takes the response of a domain's provider, which a browser posts (saml-profiles 4.1.4), and leads
 * to the end of the sign-in. Two round trips.
 */
export async function accept(c: Context<App>, domain_id: string) {
	if (await isTooOften(c, "responses"))
		return fail(c, new SignInError("too_many_attempts", "Too many responses from this network."));
	return findConnection(c, domain_id).then(
		(connection) =>
			verify(c, connection).catch((error: unknown) => fail(c, error, connection.started)),
		(error: unknown) => fail(c, error),
	);
}

async function verify(c: Context<App>, { started, parties, isIdpInitiated }: Connection) {
	const form = new URLSearchParams(new TextDecoder().decode(await bytesOf(c)));
	const response = form.get("SAMLResponse") ?? "";
	const verdict = await inIsolate(c.env, (saml) => saml.verify(parties, response));
	if (verdict.rejected) throw new SignInError(verdict.rejected.code, verdict.rejected.message);
	const { id, expires, in_response_to, ...said } = verdict;
	const { email } = said;
	if (in_response_to === null && !isIdpInitiated)
		throw new SignInError(
			"not_started_here",
			"The provider started the sign-in, which the domain doesn't allow.",
			{ email },
		);
	if (!email.includes("@"))
		throw new SignInError("email_missing", "The assertion has no email address.");
	const { connection, domain_id } = started;
	const who = { connection, domain_id, is_email_verified: true, ...said };
	const token = await finishLater(
		c,
		in_response_to && tokenOf(in_response_to),
		{ who, started },
		{ id: `${connection} ${id}`, expires },
	);
	if (!token) throw expired();
	return redirectTo(c, `/sso/finish?token=${token}`);
}
