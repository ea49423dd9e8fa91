import { iso } from "../../lib/now.ts";
import { retryAfter } from "../../outbound/send.ts";

/** Larger numbers are moments in seconds since 1970, smaller ones are seconds from now. */
const MAX_SECONDS_FROM_NOW = 1e9;

/** A time is at most this far in the future, in seconds. */
const MAX_WAIT_SECONDS = 366 * 86_400;

/**
 * Returns the seconds after which the limit is reset: Retry-After, GitHub's X-RateLimit-Reset or
 * GitLab's RateLimit-Reset.
 */
function secondsUntilReset(headers: Headers) {
	const asked = retryAfter(headers);
	if (asked !== undefined) return asked;
	const reset = Number(headers.get("x-ratelimit-reset") ?? headers.get("ratelimit-reset"));
	return reset > MAX_SECONDS_FROM_NOW ? reset - Date.now() / 1000 : reset;
}

/** Whether a response says that a rate limit is used up. GitHub also answers 403. */
function isLimit({ status, headers }: Response) {
	if (status !== 403) return status === 429;
	const remaining = headers.get("x-ratelimit-remaining") ?? headers.get("ratelimit-remaining");
	return remaining === "0" || headers.has("retry-after");
}

/**
 * Returns what to say about a response if a rate limit is used up, with the time of its end and
 * what helps; undefined for other responses.
 * https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 * https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/#response-headers
 * @param label the name of the registry
 * @param hasToken whether the request had a token
 */
export function describeLimit(response: Response, label: string, hasToken: boolean) {
	if (!isLimit(response)) return undefined;
	const seconds = secondsUntilReset(response.headers);
	const isKnown = seconds > 0 && seconds < MAX_WAIT_SECONDS;
	const when = isKnown ? `after ${iso(Date.now() + Math.round(seconds * 1000))}` : "later";
	return hasToken
		? `The rate limit of the token at ${label} is used up. Try again ${when}.`
		: `This service's rate limit at ${label} is used up. Try again ${when}, or add ?private_token= with a token of your own to the URL, which has its own limit.`;
}
