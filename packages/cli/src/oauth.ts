/** Requests of OAuth 2.1 to the service (docs/oauth.md). */
import * as oauth from "oauth4webapi";
import { errorOf, TenantryError } from "../../client/src/errors.ts";
import { loginWords, type Saved } from "./config.ts";
import { context } from "./context.ts";
import { FailedError, UsageError } from "./failure.ts";
import { isObject } from "./output.ts";
import { cell } from "./text.ts";

/** The client id of the command line, which the service knows. */
export const CLIENT = { client_id: "tenantry-cli" };

const TIMEOUT_MS = 15_000;

/** Returns the error of a service that is out of order or busy. Its body may be that of the API. */
async function unavailable(response: Response) {
	const body: unknown = await response.json().catch(() => undefined);
	const { error: code, error_description: detail, ...more } = isObject(body) ? body : {};
	return errorOf(response, JSON.stringify({ code, detail, ...more }));
}

/** Sends a request to a service, and throws the same errors as the client if it isn't available. */
async function send(url: string, options: oauth.CustomFetchOptions<string, unknown>) {
	const response = await responseTo(url, options);
	if (response.status === 429 || response.status >= 500) throw await unavailable(response);
	return response;
}

async function responseTo(
	url: string,
	{ method, headers, body, redirect }: oauth.CustomFetchOptions<string, unknown>,
) {
	const form = body instanceof URLSearchParams ? { body } : {};
	const signal = AbortSignal.timeout(TIMEOUT_MS);
	try {
		return await fetch(url, { method, headers, redirect, signal, ...form });
	} catch (cause) {
		const detail = `No response in ${TIMEOUT_MS} ms.`;
		const code = signal.aborted ? "timeout" : "network";
		throw new TenantryError({ type: "connection_error", code, detail, cause });
	}
}

/** URLs may be http: the person chooses the service, such as one on this computer. */
export const requests = { [oauth.customFetch]: send, [oauth.allowInsecureRequests]: true };

/**
 * Returns the description of the service at a URL.
 * @throws {UsageError} if it has another URL: it could be one that passes on what it gets
 */
export async function discover(url: string) {
	context().service = url;
	const { origin } = new URL(url);
	const response = await oauth.discoveryRequest(new URL(origin), {
		...requests,
		algorithm: "oauth2",
	});
	const described: unknown = await response
		.clone()
		.json()
		.catch(() => undefined);
	const issuer = isObject(described) && cell(described.issuer);
	if (issuer && issuer !== origin)
		throw new UsageError(`The service is ${issuer}. Run: ${loginWords(`--url ${issuer}`)}`);
	return oauth.processDiscoveryResponse(new URL(origin), response).catch(() => {
		throw new FailedError(`${url} isn't a service that you can log in to with a browser.`);
	});
}

/** The part of a response with tokens that a login saves. */
export const toSaved = (
	url: string,
	{ access_token, refresh_token = "", expires_in = 0 }: oauth.TokenEndpointResponse,
): Saved => ({
	url,
	key: access_token,
	tokens: { refresh_token, expires_at: Date.now() + expires_in * 1000 },
});

/** Ends the access of a login. */
export async function revoke(url: string, { refresh_token }: { refresh_token: string }) {
	const as = await discover(url);
	const response = await oauth.revocationRequest(as, CLIENT, oauth.None(), refresh_token, requests);
	await oauth.processRevocationResponse(response);
}
