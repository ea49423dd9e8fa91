import type { Context } from "hono";
import * as z from "zod";
import type { App } from "../../env.ts";
import { bytesOf } from "../../http/body.ts";
import { email as Email } from "../../http/fields.ts";
import { fail } from "../provider/finish.ts";
import { expired, SignInError } from "../provider/problems.ts";
import { Started } from "../provider/shape.ts";
import { checkRate } from "../provider/start.ts";
import { redirectTo, storeFinish, takeState } from "../provider/state.ts";
import { type Connection, findConnection, inIsolate } from "./connection.ts";
import { tokenOf } from "./start.ts";

/**
 * Takes the response of a domain's provider, which a browser posts (saml-profiles 4.1.4), and leads
 * to the end of the sign-in. Two round trips.
 */
export const accept = (c: Context<App>, domain_id: string) =>
	check(c, domain_id).catch((error: unknown) => fail(c, error));

async function check(c: Context<App>, domain_id: string) {
	await checkRate(c, "responses");
	const connection = await findConnection(c, domain_id);
	const form = new URLSearchParams(new TextDecoder().decode(await bytesOf(c)));
	return verify(c, connection, form.get("SAMLResponse") ?? "").catch((error: unknown) =>
		reject(c, error, { connection, token: form.get("RelayState") }),
	);
}

async function verify(
	c: Context<App>,
	{ started, parties, isIdpInitiated }: Connection,
	response: string,
) {
	const verdict = await inIsolate(c.env, (saml) => saml.verify(parties, response));
	if (verdict.rejected) throw new SignInError(verdict.rejected.code, verdict.rejected.message);
	const { id, expires, in_response_to, ...person } = verdict;
	const { data: email } = Email().safeParse(person.email);
	if (in_response_to === null && !isIdpInitiated)
		throw new SignInError(
			"not_started_here",
			"The provider started the sign-in, which the domain doesn't allow.",
			{ email: email ?? "" },
		);
	if (email === undefined)
		throw new SignInError("email_missing", "The assertion has no valid email address.", {
			claims: person.claims,
		});
	const { connection, domain_id } = started;
	const who = { connection, domain_id, is_email_verified: true, ...person, email };
	const token = await storeFinish(
		c,
		{ token: in_response_to && tokenOf(in_response_to), id: `${connection} ${id}`, expires },
		{ who, started },
	);
	if (!token) throw expired();
	return redirectTo(c, `/sso/finish?token=${token}`);
}

const Stored = z.object({ started: Started });

/**
 * Ends a sign-in whose response is rejected. What the response says can't be trusted, so only the
 * token that the browser brings along tells whether it is the test of an admin.
 */
async function reject(
	c: Context<App>,
	error: unknown,
	{ connection: { started }, token }: { connection: Connection; token: string | null },
) {
	const data = token ? await takeState(c, { kind: "saml", token, fromAnySite: true }) : undefined;
	const stored = Stored.safeParse(data).data?.started;
	return fail(c, error, stored?.connection === started.connection ? stored : started);
}
