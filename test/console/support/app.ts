/** An app that asks for access, as the client library of others does. */
import { createServer } from "node:http";
import * as oauth from "oauth4webapi";
import { inject } from "vitest";
import { clientOf } from "./browser.ts";

/** The server of the app, which has its document. */
const host = createServer((request, response) => {
	const client_id = `http://${request.headers.host}${request.url}`;
	response.end(
		JSON.stringify({
			client_id,
			client_name: "Notes",
			redirect_uris: [callback()],
		}),
	);
});

await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
host.unref();
const address = host.address();

/** The URL of the app's document. */
export const client_id = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/app`;

/** Where the app continues. */
export const callback = () => `${inject("console").provider}/callback`;

/** The server of the tests has no certificate. */
export const insecure = { [oauth.allowInsecureRequests]: true };

/** The description of the authorization server. */
export async function discover() {
	const issuer = new URL(inject("console").url);
	const options = { algorithm: "oauth2", ...insecure } as const;
	const response = await oauth.discoveryRequest(issuer, options);
	return oauth.processDiscoveryResponse(issuer, response);
}

/** The request of the app, and how it gets tokens from the URL to which the browser comes back. */
export async function newRequest(scope: string) {
	const { url } = inject("console");
	const as = await discover();
	const verifier = oauth.generateRandomCodeVerifier();
	const redirect_uri = callback();
	const parameters = {
		response_type: "code" as const,
		...{ client_id, redirect_uri, scope, state: "a&b" },
		code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
		code_challenge_method: "S256" as const,
		resource: `${url}/api`,
	};
	const client = { client_id };
	const respond = (back: string) =>
		oauth.validateAuthResponse(as, client, new URL(back), parameters.state);
	const exchange = async (back: string) => {
		const response = await oauth.authorizationCodeGrantRequest(
			as,
			client,
			oauth.None(),
			respond(back),
			redirect_uri,
			verifier,
			insecure,
		);
		return oauth.processAuthorizationCodeResponse(as, client, response);
	};
	const path = `/oauth/authorize?${new URLSearchParams(parameters)}`;
	const isBack = (to: URL) => to.href.startsWith(redirect_uri);
	return { parameters, path, isBack, respond, exchange };
}

/** Gives the app access for a person. Returns its access token. */
export async function allow(key: string, organization: string, more: object = {}) {
	const { parameters, exchange } = await newRequest("project:read webhook:write");
	const { redirect_url } = await clientOf(key).appRequests.approve({
		...parameters,
		scopes: ["project:read", "webhook:write"],
		scoped_organizations: [organization],
		...more,
	});
	return (await exchange(redirect_url)).access_token;
}
