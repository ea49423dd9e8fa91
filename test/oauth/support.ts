import { env, exports } from "cloudflare:workers";
import * as oauth from "oauth4webapi";
import { v7 } from "uuid";
import { expect } from "vitest";
import { call } from "../support/world.ts";

/** Where the tests' APP_URL is: the authorization server and the resources. */
const ORIGIN = "https://app.tenantry.test";

export const API = `${ORIGIN}/api`;
export const MCP = `${ORIGIN}/mcp`;

/** Sends a request that isn't in the OpenAPI document, by default from an address of its own. */
export const send = (method: string, url: string, body?: BodyInit, headers?: HeadersInit) => {
	const sent = new Headers(headers);
	if (!sent.has("cf-connecting-ip")) sent.set("cf-connecting-ip", v7());
	const init = { method, headers: sent, redirect: "manual", ...(body && { body }) } as const;
	return exports.default.fetch(new Request(new URL(url, ORIGIN), init));
};

/** Lets the client library call the worker. */
export const options = {
	[oauth.customFetch]: (
		url: string,
		{ method, headers, body }: oauth.CustomFetchOptions<string, URLSearchParams | unknown>,
	) =>
		send(
			method,
			url,
			body instanceof URLSearchParams || typeof body === "string" ? body : undefined,
			headers,
		),
};

/** The description of the authorization server, as the client library reads it. */
export async function server() {
	const issuer = new URL(ORIGIN);
	const response = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...options });
	return oauth.processDiscoveryResponse(issuer, response);
}

/** The description of a resource, as the client library reads it. */
export async function resource(url: string) {
	const response = await oauth.resourceDiscoveryRequest(new URL(url), options);
	return oauth.processResourceDiscoveryResponse(new URL(url), response);
}

export const CALLBACK = "https://notes.example/callback";

/** The client id of an app, whose document has these fields. */
export function newApp(fields: object = {}) {
	const document = { client_name: "Notes", redirect_uris: [CALLBACK], nonce: v7(), ...fields };
	const text = Buffer.from(JSON.stringify(document)).toString("base64url");
	return `${env.RECEIVER_URL}/app/${text}`;
}

/** What an app sends to /oauth/authorize, with the verifier that it keeps. */
export async function request(client_id: string, fields: Record<string, string> = {}) {
	const verifier = oauth.generateRandomCodeVerifier();
	const parameters = {
		response_type: "code",
		client_id,
		redirect_uri: CALLBACK,
		code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
		code_challenge_method: "S256",
		state: oauth.generateRandomState(),
		...fields,
	};
	return { verifier, parameters };
}

type Person = { key: string };

type Parameters = Record<string, string | undefined>;

/** What the console shows of a request. */
export const preview = ({ key }: Person, parameters: Parameters, more = {}) =>
	call("POST", "/api/app_requests/preview", { key, body: parameters, ...more });

/** Allows a request. */
export const approve = (
	{ key }: Person,
	parameters: Parameters,
	choice: object = { scopes: ["project:read"] },
) => call("POST", "/api/app_requests", { key, body: { ...parameters, ...choice } });

type Asked = Awaited<ReturnType<typeof request>>;

/** The code that an app gets when a person allows its request. */
export async function codeFor(person: Person, { parameters }: Asked, choice?: object) {
	const { status, body } = await approve(person, parameters, choice);
	expect(status).toBe(200);
	const { client_id, state } = parameters;
	const url = new URL(body.redirect_url);
	return oauth.validateAuthResponse(await server(), { client_id }, url, state);
}

type Change = { client_id?: string; redirect_uri?: string; verifier?: string; resource?: string };

/** Exchanges a code for tokens. */
export async function exchange(
	code: URLSearchParams,
	{ parameters, verifier }: Asked,
	change: Change = {},
) {
	const as = await server();
	const { client_id, redirect_uri } = { ...parameters, ...change };
	const client = { client_id };
	const { resource } = change;
	const response = await oauth.authorizationCodeGrantRequest(
		as,
		client,
		oauth.None(),
		code,
		redirect_uri,
		change.verifier ?? verifier,
		{ ...options, ...(resource && { additionalParameters: { resource } }) },
	);
	return oauth.processAuthorizationCodeResponse(as, client, response);
}

/** A grant to an app: its tokens, and what the app can do with them. */
export async function granted(
	person: Person,
	{
		client_id = newApp(),
		fields = {},
		choice,
	}: { client_id?: string; fields?: Record<string, string>; choice?: object } = {},
) {
	const asked = await request(client_id, fields);
	const code = await codeFor(person, asked, choice);
	const tokens = await exchange(code, asked);
	return { client_id, asked, code, ...secretsIn(tokens) };
}

/** The tokens in a response. */
export const secretsIn = ({ access_token, refresh_token = "" }: oauth.TokenEndpointResponse) => ({
	access: access_token,
	refresh: refresh_token,
});

export async function refresh(client_id: string, token: string, more: Record<string, string> = {}) {
	const as = await server();
	const client = { client_id };
	const response = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), token, {
		...options,
		additionalParameters: more,
	});
	return oauth.processRefreshTokenResponse(as, client, response);
}

export async function revoke(client_id: string, token: string) {
	const response = await oauth.revocationRequest(
		await server(),
		{ client_id },
		oauth.None(),
		token,
		options,
	);
	return oauth.processRevocationResponse(response);
}

export async function introspect(client_id: string, token: string) {
	const as = await server();
	const client = { client_id };
	const response = await oauth.introspectionRequest(as, client, oauth.None(), token, options);
	return oauth.processIntrospectionResponse(as, client, response);
}

/** The status of a request to the API with a token. */
export const statusWith = async (key: string) =>
	(await call("GET", "/api/projects", { key, headers: { "cf-connecting-ip": v7() } })).status;

/** What the client library throws for an error of the protocol. */
export const fails = (error: string) => ({ name: "ResponseBodyError", error });

/** A 400 about a field. */
export const rejected = (attr: string, code = "invalid_input") => ({
	status: 400,
	body: { code, attr },
});
