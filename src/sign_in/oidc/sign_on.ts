import type { Context } from "hono";
import * as z from "zod";
import type { App } from "../../env.ts";
import { email } from "../../http/fields.ts";
import { newToken } from "../../keys/keys.ts";
import { connectionOf, pathOf } from "../../people/connections.ts";
import { fail, signInWith } from "../provider/finish.ts";
import { expired } from "../provider/problems.ts";
import { Started } from "../provider/shape.ts";
import { start } from "../provider/start.ts";
import { startState, takeState } from "../provider/state.ts";
import { type Connection, ofDomain, providerOf } from "./connections.ts";
import { authorizationUrl, Pending, through, verify } from "./oidc.ts";

/* The two pages of a sign-in through OpenID Connect, or GitHub. */

const Stored = z.object({ started: Started, pending: Pending });

/** A connection, and how to find it. */
type Lookup = { connection: string; find: () => Promise<Connection> };

/** The OpenID Connect provider of a domain. */
export function domainIn(c: Context<App>): Lookup {
	const id = (c.req.param("domain_id") ?? "").toLowerCase();
	return { connection: connectionOf(id, "oidc"), find: () => ofDomain(c, id) };
}

/** A provider of the deployment. */
export function providerIn(c: Context<App>): Lookup {
	const name = c.req.param("provider") ?? "";
	return { connection: name, find: async () => providerOf(c.env, name) };
}

/** Returns the URL that the operator or admin enters at the provider. */
const callbackOf = (c: Context<App>, { connection }: Connection) =>
	new URL(`${pathOf(connection)}/callback`, c.req.url).href;

/** Redirects to the provider. */
export const goToProvider = (c: Context<App>, lookup: Lookup) =>
	start(c, {
		...lookup,
		async requestUrl(settings, started) {
			const pending = { nonce: newToken(), verifier: newToken() };
			const state = newToken();
			const url = await authorizationUrl(through(c.env, settings), settings, {
				redirect_uri: callbackOf(c, settings),
				state,
				email: email().safeParse(c.req.query("email")).data,
				pending,
			});
			await startState(c, { kind: "oidc", token: state, data: { started, pending } });
			return url;
		},
	});

/** Ends the sign-in of `goToProvider`, when the provider sends the browser back. */
export async function callback(c: Context<App>, { connection, find }: Lookup) {
	const state = c.req.query("state") ?? "";
	const data = await takeState(c, { kind: "oidc", token: state });
	if (!data) return fail(c, expired());
	const { started, pending } = Stored.parse(data);
	const url = new URL(c.req.url);
	const run = async () => {
		// The state of one connection must not be used with the response of another.
		if (connection !== started.connection) throw expired();
		const settings = await find();
		const redirect_uri = callbackOf(c, settings);
		const who = await verify(c.env, settings, { url, redirect_uri, state, pending });
		return signInWith(c, who, started);
	};
	return run().catch((error) => fail(c, error, started));
}
