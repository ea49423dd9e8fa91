import { createMiddleware } from "hono/factory";
import type { App } from "../../env.ts";
import { ApiError } from "../../http/errors.ts";
import { formatted } from "../../http/json.ts";

/** RFC 6749, section 5.2, and RFC 8707, section 2. */
type OauthCode =
	| "invalid_request"
	| "invalid_client"
	| "invalid_grant"
	| "invalid_scope"
	| "invalid_target"
	| "unsupported_grant_type";

/** An error of the endpoints for apps. */
export class OauthError extends ApiError {
	readonly oauth_code: OauthCode;

	/** @param detail without quotation marks, which the protocol doesn't allow */
	constructor(oauth_code: OauthCode, detail: string) {
		super({ status: 400, code: "invalid_input", detail });
		this.oauth_code = oauth_code;
	}
}

/** Returns the code for an error that isn't the protocol's, such as too many requests. */
const codeFor = (status: number) => {
	if (status === 429 || status === 503) return "temporarily_unavailable";
	return status < 500 ? "invalid_request" : "server_error";
};

/** Gives errors the form of RFC 6749, section 5.2, and keeps responses out of caches. */
export const asOauthErrors = createMiddleware<App>(async (c, next) => {
	await next();
	c.header("Cache-Control", "no-store");
	if (!c.error) return;
	const detail = c.error instanceof ApiError ? c.error.body.detail : "A server error occurred.";
	const body = {
		error: c.error instanceof OauthError ? c.error.oauth_code : codeFor(c.res.status),
		error_description: detail.replace(/["\\]/g, "'"),
	};
	c.res = new Response(formatted(c, JSON.stringify(body)), c.res);
});
