import { createMiddleware } from "hono/factory";
import type { App } from "../../env.ts";
import { ApiError } from "../../http/errors.ts";
import { formatted } from "../../http/json.ts";

/** RFC 6749, section 5.2; RFC 8707, section 2; RFC 8628, section 3.5; RFC 7591, section 3.2.2. */
type OauthCode =
	| "invalid_request"
	| "invalid_client"
	| "unauthorized_client"
	| "invalid_grant"
	| "invalid_scope"
	| "invalid_target"
	| "invalid_redirect_uri"
	| "invalid_client_metadata"
	| "unsupported_grant_type"
	| "authorization_pending"
	| "slow_down"
	| "access_denied"
	| "expired_token";

/** An error of the endpoints for apps. */
export class OauthError extends ApiError {
	readonly oauth_code: OauthCode;

	/** @param detail without quotation marks, which the protocol doesn't allow */
	constructor(oauth_code: OauthCode, detail: string) {
		super({ status: 400, code: "invalid_input", detail });
		this.oauth_code = oauth_code;
	}
}

/** The codes for errors of fields (src/oauth/requests/request.ts). */
const OF_FIELDS = new Map<string | null, OauthCode>([
	["client_id", "invalid_client"],
	["resource", "invalid_target"],
]);

/** Returns the code for an error that isn't the protocol's, such as too many requests. */
const codeFor = (status: number) => {
	if (status === 429 || status === 503) return "temporarily_unavailable";
	return status < 500 ? "invalid_request" : "server_error";
};

/** Returns the code of an error. */
function codeOf(error: Error, status: number) {
	if (error instanceof OauthError) return error.oauth_code;
	const ofField = error instanceof ApiError && OF_FIELDS.get(error.body.attr);
	return ofField || codeFor(status);
}

/** Gives errors the form of RFC 6749, section 5.2, and keeps responses out of caches. */
export const asOauthErrors = createMiddleware<App>(async (c, next) => {
	await next();
	c.header("Cache-Control", "no-store");
	if (!c.error) return;
	const detail = c.error instanceof ApiError ? c.error.body.detail : "A server error occurred.";
	const body = {
		error: codeOf(c.error, c.res.status),
		error_description: detail.replace(/["\\]/g, "'").replace(/[^ -~]/g, "?"),
	};
	c.res = new Response(formatted(c, JSON.stringify(body)), c.res);
});
