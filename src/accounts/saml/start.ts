import type { Context } from "hono";
import type { App } from "../../env.ts";
import { fail, redirectTo } from "../sso/finish.ts";
import { isTooOften } from "../sso/limit.ts";
import { SignInError } from "../sso/problems.ts";
import { begin } from "../sso/state.ts";
import { inIsolate } from "./client.ts";
import { findConnection } from "./connection.ts";

/** The id of the request of a sign-in. An XML id can't start with a digit. */
export const requestId = (token: string) => `_${token}`;

/** Returns the token of a sign-in, from the id of its request. */
export const tokenOf = (id: string) => id.slice(1);

/** Starts a sign-in: leads to the domain's provider, with a request (saml-profiles 4.1.3). */
export const start = (c: Context<App>, domain_id: string) =>
	request(c, domain_id).catch((error: unknown) => fail(c, error));

async function request(c: Context<App>, domain_id: string) {
	if (await isTooOften(c, "sign-ins"))
		throw new SignInError("too_many_attempts", "Too many sign-ins from this network.");
	const { started, parties } = await findConnection(c, domain_id);
	const protocol = URL.parse(parties.saml_acs_url)?.protocol ?? "";
	if (!["https:", "http:"].includes(protocol))
		throw new SignInError("not_configured", "saml_acs_url isn't an HTTPS URL.");
	const token = await begin(c, "saml", { started });
	return redirectTo(c, await inIsolate(c.env, (saml) => saml.request(parties, requestId(token))));
}
