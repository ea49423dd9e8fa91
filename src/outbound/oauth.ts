import * as oauth from "oauth4webapi";
import { allowsPrivate } from "./reach.ts";
import { sender } from "./send.ts";

/** How long a provider may take to respond. */
const TIMEOUT_MS = 10_000;

/**
 * Returns the options with which oauth4webapi sends all requests through the check of public hosts,
 * without redirects, and with limits of time and size.
 * @param secrets texts that error messages must not contain
 * @param toError converts the reason why there is no response
 */
export function checkedRequests(
	env: Env,
	issuer: string,
	secrets: string[],
	toError: (reason: unknown) => Error,
) {
	const { exchange } = sender(env, TIMEOUT_MS);
	const fetchText = async (url: string, init: RequestInit) => {
		const { status, headers, text } = await exchange(new Request(url, init), secrets).catch(
			(error) => {
				throw toError(error);
			},
		);
		const type = headers.get("content-type") ?? "";
		const body = [204, 205, 304].includes(status) ? null : text;
		return new Response(body, { status, headers: { "content-type": type } });
	};
	return {
		[oauth.customFetch]: (
			url: string,
			{ method, headers, body }: oauth.CustomFetchOptions<string, URLSearchParams | unknown>,
		) => fetchText(url, { method, headers, ...(body instanceof URLSearchParams && { body }) }),
		// For providers on the same computer, as `npm start` has one.
		[oauth.allowInsecureRequests]: issuer.startsWith("http:") && allowsPrivate(env),
	};
}
