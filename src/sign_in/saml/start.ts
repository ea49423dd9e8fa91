import type { Context } from "hono";
import type { App } from "../../env.ts";
import { newToken } from "../../keys/keys.ts";
import { connectionOf } from "../../people/connections.ts";
import { SignInError } from "../provider/problems.ts";
import { start } from "../provider/start.ts";
import { startState } from "../provider/state.ts";
import { findConnection, inIsolate } from "./connection.ts";

/** The id of the request of a sign-in. An XML id can't start with a digit. */
const requestId = (token: string) => `_${token}`;

/** Returns the token of a sign-in, from the id of its request. */
export const tokenOf = (id: string) => id.slice(1);

/** Starts a sign-in: leads to the domain's provider, with a request (saml-profiles 4.1.3). */
export const request = (c: Context<App>, domain_id: string) =>
	start(c, {
		connection: connectionOf(domain_id.toLowerCase(), "saml"),
		async find() {
			const { started, parties } = await findConnection(c, domain_id);
			const protocol = URL.parse(parties.saml_acs_url)?.protocol ?? "";
			if (!["https:", "http:"].includes(protocol))
				throw new SignInError("not_configured", "saml_acs_url isn't an HTTPS URL.");
			return { ...started, parties };
		},
		async requestUrl({ parties }, started) {
			const token = newToken();
			const url = await inIsolate(c.env, (saml) => saml.request(parties, requestId(token), token));
			await startState(c, { kind: "saml", token, data: { started } });
			return url;
		},
	});
