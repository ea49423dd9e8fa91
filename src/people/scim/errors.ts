import { createMiddleware } from "hono/factory";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { App } from "../../env.ts";
import type { ErrorCode } from "../../http/codes.ts";
import { ApiError } from "../../http/errors.ts";
import { formatted } from "../../http/json.ts";

/** The media type of SCIM (RFC 7644, section 3.1). */
export const SCIM_TYPE = { "Content-Type": "application/scim+json" };

/** The codes of errors whose status isn't enough for a provider (RFC 7644, table 9). */
export type ScimType =
	| "invalidFilter"
	| "invalidPath"
	| "invalidSyntax"
	| "invalidValue"
	| "mutability"
	| "tooMany"
	| "uniqueness";

/** An error of the SCIM endpoint. */
export class ScimError extends ApiError {
	readonly scim_type: ScimType | undefined;

	constructor(status: ContentfulStatusCode, scim_type: ScimType | undefined, detail: string) {
		super({ status, code: CODES[status] ?? "invalid_input", detail });
		this.scim_type = scim_type;
	}
}

const CODES: Record<number, ErrorCode> = { 403: "permission_denied", 409: "conflict" };

const isError = (body: unknown): body is { code: string; detail: string } =>
	typeof body === "object" && body !== null && "code" in body && "detail" in body;

/** Gives errors the form of RFC 7644, section 3.12. */
export const asScimErrors = createMiddleware<App>(async (c, next) => {
	await next();
	const { status } = c.res;
	const body: unknown = status < 400 ? undefined : JSON.parse(c.get("compact")?.text ?? "null");
	if (!isError(body)) return;
	const scimType =
		c.error instanceof ScimError
			? c.error.scim_type
			: body.code === "parse_error"
				? "invalidSyntax"
				: undefined;
	const error = {
		schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
		status: String(status),
		...(scimType && { scimType }),
		detail: body.detail,
	};
	c.res = new Response(formatted(c, JSON.stringify(error)), c.res);
	c.res.headers.set("Content-Type", SCIM_TYPE["Content-Type"]);
});
