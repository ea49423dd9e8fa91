/** Uses and renews the tokens of a login. */
import * as oauth from "oauth4webapi";
import { preparePath, profile, type Saved, save, saved } from "./config.ts";
import { locked } from "./lock.ts";
import { CLIENT, discover, requests, toSaved } from "./oauth.ts";

/** How long before an access token expires it is renewed. */
const EARLY_MS = 60_000;

/** Exchanges the refresh token for the next tokens. */
async function refresh({ url, tokens }: Saved) {
	const response = await oauth.refreshTokenGrantRequest(
		await discover(url),
		CLIENT,
		oauth.None(),
		tokens?.refresh_token ?? "",
		requests,
	);
	return toSaved(
		url,
		await oauth.processRefreshTokenResponse({ issuer: new URL(url).origin }, CLIENT, response),
	);
}

/** Returns the login of the profile; undefined if it isn't one to this service any more. */
function loginTo(url: string) {
	const login = saved();
	return login?.url === url ? login : undefined;
}

/**
 * Renews the tokens of the profile, unless another command has done so since `used`: a refresh
 * token works once, and its second use would end the login.
 * @returns the access token; undefined if there is no login any more
 */
const renew = (url: string, used: string) =>
	locked(preparePath(), async () => {
		const login = loginTo(url);
		if (!login?.tokens || login.key !== used) return login?.key;
		const next = await refresh(login);
		save(next);
		return next.key;
	});

/** The response in the place of one to a request that can't be sent any more. */
const ended = () => {
	const words = profile() === "default" ? "" : ` --profile ${profile()}`;
	return Response.json(
		{
			type: "authentication_error",
			code: "authentication_failed",
			detail: `This login has ended. Run: tenantry login${words}`,
			attr: null,
		},
		{ status: 401 },
	);
};

/** Like `renew`; undefined also if the service says that the login has ended. */
async function renewIfPossible(url: string, used: string) {
	try {
		return await renew(url, used);
	} catch (error) {
		if (error instanceof oauth.ResponseBodyError && error.error === "invalid_grant")
			return undefined;
		throw error;
	}
}

/**
 * Returns a `fetch` that sends the access token of the profile. The token is renewed before it
 * expires, and if the service rejects it: another command may have renewed it.
 * @param url the service of the login
 */
export const fetchWithToken = (url: string) => async (input: string, init: RequestInit) => {
	const send = (token: string) => {
		const headers = new Headers(init.headers);
		headers.set("authorization", `Bearer ${token}`);
		return fetch(input, { ...init, headers });
	};
	const login = loginTo(url);
	if (!login) return ended();
	const isOver = (login.tokens?.expires_at ?? 0) < Date.now() + EARLY_MS;
	const token = isOver ? await renewIfPossible(url, login.key) : login.key;
	if (token === undefined) return ended();
	const response = await send(token);
	if (response.status !== 401) return response;
	const next = await renewIfPossible(url, token);
	return next === undefined ? ended() : send(next);
};
