import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as oauth from "oauth4webapi";
import { v7 } from "uuid";
import { expect } from "vitest";
import { app } from "../../../src/app.ts";
import { TOKEN_EXCHANGE } from "../../../src/oauth/protocol/tokens.ts";
import { received } from "../../support/exporting.ts";
import { world } from "../../support/world.ts";
import { send, server } from "../support.ts";
import { AUDIENCE, newPair, SUBJECT, signToken } from "./tokens.ts";

const JWT = "urn:ietf:params:oauth:token-type:jwt";

/** An issuer on loopback. Its keys are those that are made fastest. */
export async function issuer() {
	const at = `/issuers/${v7()}`;
	const url = `${env.RECEIVER_URL}${at}`;
	let pair = await newPair("ES256");
	/** Makes the issuer sign with another key, which it publishes instead of the old one. */
	async function rotate(alg = "ES256") {
		pair = await newPair(alg);
		await publish([pair.jwk]);
	}
	const publish = (keys: object[]) =>
		fetch(`${url}/jwks`, { method: "PUT", body: JSON.stringify({ keys }) });
	await publish([pair.jwk]);
	const sign = (claims: Record<string, unknown> = {}, header: object = {}) =>
		signToken(pair, { iss: url, ...claims }, header);
	/** How often the keys were fetched. */
	const fetches = async () =>
		(await received(`${at}/jwks`)).filter(({ method }) => method === "GET").length;
	return { url, sign, rotate, publish, fetches, current: () => pair };
}

/** A tenant whose service account trusts an issuer. */
export async function trusting(fields: object = {}, level = 1) {
	const home = await world();
	const its = await issuer();
	const { body: account } = await home.here("POST", "/service_accounts", {
		body: { name: "Deploy", level },
	});
	const path = `/service_accounts/${account.id}/trusted_issuers`;
	const { status, body: trust } = await home.here("POST", path, {
		body: {
			name: "Deployment of main",
			issuer: its.url,
			subject: SUBJECT,
			scopes: ["project:read"],
			...fields,
		},
	});
	expect(status).toBe(201);
	const at = `${path}/${trust.id}`;
	return { ...home, ...its, account, trust, path, at };
}

/** The same with a key of RSA, instead of which the issuer publishes this one. */
export async function trustingRsa(key: object) {
	const home = await trusting();
	await home.rotate("RS256");
	const { kid } = home.current();
	await home.publish([{ kty: "RSA", e: "AQAB", ...key, kid, alg: "RS256", use: "sig" }]);
	return home;
}

export type Trusting = Awaited<ReturnType<typeof trusting>>;

/** Lets the client library call the worker. */
const options = {
	[oauth.customFetch]: (
		url: string,
		{ method, headers, body }: oauth.CustomFetchOptions<string, URLSearchParams | unknown>,
	) => send(method, url, body instanceof URLSearchParams ? body : undefined, headers),
};

/** Exchanges a token for a key. */
export async function exchange(
	client_id: string,
	subject_token: string,
	more: Record<string, string> = {},
) {
	const as = await server();
	const client = { client_id };
	const parameters = { subject_token, subject_token_type: JWT, ...more };
	const response = await oauth.genericTokenEndpointRequest(
		...([as, client, oauth.None(), TOKEN_EXCHANGE, parameters, options] as const),
	);
	return oauth.processGenericTokenEndpointResponse(as, client, response);
}

/** The key for a new token of the issuer. */
export const keyOf = async ({ trust, sign }: Pick<Trusting, "trust" | "sign">) =>
	(await exchange(trust.id, await sign())).access_token;

/** Exchanges a token in a request whose environment is another. */
export async function exchangeIn(
	overrides: Partial<Env>,
	{ trust, sign }: Pick<Trusting, "trust" | "sign">,
	address = v7(),
) {
	const body = new URLSearchParams({
		grant_type: TOKEN_EXCHANGE,
		client_id: trust.id,
		subject_token: await sign(),
		subject_token_type: JWT,
	});
	const headers = { "cf-connecting-ip": address };
	const request = new Request(`${AUDIENCE}/oauth/token`, { method: "POST", headers, body });
	const context = createExecutionContext();
	const response = await app.fetch(request, { ...env, ...overrides }, context);
	await waitOnExecutionContext(context);
	const { status } = response;
	return { status, headers: response.headers, body: JSON.parse(await response.text()) };
}

/** What the client library throws for a rejected token. */
export const rejected = (error_description: string, error = "invalid_request") => ({
	name: "ResponseBodyError",
	error,
	error_description: expect.stringContaining(error_description),
});
