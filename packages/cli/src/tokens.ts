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

/** A response in the form of the API, in the place of one to a request that wasn't sent. */
const response = (status: number, code: string, detail: string) =>
	Response.json({ type: "authentication_error", code, detail, attr: null }, { status });

function ended() {
	const words = profile() === "default" ? "" : ` --profile ${profile()}`;
	const detail = `This login has ended. Run: tenantry login${words}`;
	return response(401, "authentication_failed", detail);
}

/** Like `renew`. Returns a response if the service doesn't renew the tokens. */
async function tryToRenew(url: string, used: string) {
	try {
		return (await renew(url, used)) ?? ended();
	} catch (error) {
		if (!(error instanceof oauth.ResponseBodyError)) throw error;
		const { error: code, error_description: detail = code, status } = error;
		return code === "invalid_grant" ? ended() : response(status, code, detail);
	}
}

/**
 * Returns a `fetch` that sends the access token of the profile. The token is renewed before it
 * expires, and if the service rejects it: another command may have renewed it.
 * @param url the service of the login
 */
export const fetchWithToken = (url: string) => async (input: string, init: RequestInit) => {
	const send = async (token: string | Response) => {
		if (token instanceof Response) return token;
		const headers = new Headers(init.headers);
		headers.set("authorization", `Bearer ${token}`);
		return fetch(input, { ...init, headers });
	};
	const login = loginTo(url);
	if (!login) return ended();
	const isOver = (login.tokens?.expires_at ?? 0) < Date.now() + EARLY_MS;
	const token = isOver ? await tryToRenew(url, login.key) : login.key;
	const received = await send(token);
	if (received.status !== 401 || token instanceof Response) return received;
	return send(await tryToRenew(url, token));
};
