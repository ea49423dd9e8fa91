import type { Context } from "hono";
import * as z from "zod";
import { newToken } from "../../auth/keys.ts";
import type { App } from "../../env.ts";
import { email } from "../../http/fields.ts";
import type { Connection } from "./connections.ts";
import { fail, signInWith } from "./finish.ts";
import { isTooOften } from "./limit.ts";
import { authorizationUrl, Pending, verify } from "./oidc.ts";
import { expired, SignInError } from "./problems.ts";
import { Started } from "./shape.ts";
import { begin, redirectTo, take } from "./state.ts";
import { testOf } from "./trial.ts";

/* The two pages of a sign-in through OpenID Connect, or GitHub. */

const Stored = z.object({ started: Started, pending: Pending });

/** The path of a connection below `/sso`. */
const pathOf = ({ connection, domain_id }: Started | Connection) =>
	domain_id === null ? connection : `oidc/${domain_id}`;

/** Returns the URL that the operator or admin enters at the provider. */
const callbackOf = (c: Context<App>, connection: Connection) =>
	new URL(`/sso/${pathOf(connection)}/callback`, c.req.url).href;

/** Redirects to the provider. */
export async function start(c: Context<App>, find: () => Promise<Connection>) {
	return goToProvider(c, find).catch((error) => fail(c, error));
}

async function goToProvider(c: Context<App>, find: () => Promise<Connection>) {
	if (await isTooOften(c, "sign-ins"))
		throw new SignInError("too_many_attempts", "Too many sign-ins from this network.");
	const found = await find();
	const { connection, domain_id, organization_id } = found;
	const test = await testOf(c, connection);
	const started = { connection, domain_id, organization_id, ...(test && { test }) };
	const pending = { nonce: newToken(), verifier: newToken() };
	const hint = email().safeParse(c.req.query("email"));
	const state = newToken();
	const redirect_uri = callbackOf(c, found);
	const go = { redirect_uri, state, email: hint.data, pending };
	return authorizationUrl(c.env, found, go).then(
		async (url) => {
			await begin(c, "oidc", { started, pending }, state);
			return redirectTo(c, url);
		},
		(error) => fail(c, error, started),
	);
}

/** Ends what `start` began, when the provider sends the browser back. */
export async function callback(c: Context<App>, find: () => Promise<Connection>) {
	const state = c.req.query("state") ?? "";
	const data = await take(c, "oidc", state);
	if (!data) return fail(c, expired());
	const { started, pending } = Stored.parse(data);
	const url = new URL(c.req.url);
	const run = async () => {
		const found = await find();
		// The state of one connection must not be used with the response of another.
		if (found.connection !== started.connection) throw expired();
		const redirect_uri = callbackOf(c, found);
		const who = await verify(c.env, found, { url, redirect_uri, state, pending });
		return signInWith(c, who, started);
	};
	return run().catch((error) => fail(c, error, started));
}
