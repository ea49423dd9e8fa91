/** Uses and renews the tokens of a login. */
import * as oauth from "oauth4webapi";
import { TenantryError } from "../../client/src/errors.ts";
import { loginWords, preparePath, type Saved, save, saved } from "./config.ts";
import { context } from "./context.ts";
import { FailedError, UsageError } from "./failure.ts";
import { locked } from "./lock.ts";
import { CLIENT, discover, requests, toSaved } from "./oauth.ts";

/** How long before an access token expires it is renewed. */
const EARLY_MS = 60_000;

/** Exchanges the refresh token for the next tokens. */
async function refresh({ url, tokens }: Saved) {
	const own = context();
	if (own.failure !== undefined) throw own.failure;
	const as = await discover(url);
	const { refresh_token = "" } = tokens ?? {};
	const none = oauth.None();
	try {
		const response = await oauth.refreshTokenGrantRequest(
			as,
			CLIENT,
			none,
			refresh_token,
			requests,
		);
		return toSaved(url, await oauth.processRefreshTokenResponse(as, CLIENT, response));
	} catch (error) {
		own.failure = error;
		throw error;
	}
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

const unauthenticated = (detail: string) => response(401, "authentication_failed", detail);

const ended = () => unauthenticated(`This login has ended. Run: ${loginWords()}`);

/** Like `renew`. Returns a response if the service doesn't renew the tokens. */
async function tryToRenew(url: string, used: string) {
	try {
		return (await renew(url, used)) ?? ended();
	} catch (error) {
		if (error instanceof oauth.ResponseBodyError) {
			const { error: code, error_description: detail = code, status } = error;
			return code === "invalid_grant" ? ended() : response(status, code, detail);
		}
		if (error instanceof TenantryError && error.status !== 0)
			return response(error.status, error.code, error.detail);
		if (error instanceof UsageError || error instanceof FailedError)
			return unauthenticated(error.message);
		throw error;
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
