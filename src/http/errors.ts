import type { Context, ErrorHandler, NotFoundHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type * as z from "zod";
import type { App } from "../env.ts";
import { logRequestError } from "../lib/log.ts";
import type { ErrorCode } from "./codes.ts";
import type { ErrorBody } from "./error_body.ts";
import { formatted } from "./json.ts";

type Choices = z.infer<typeof ErrorBody>["choices"];

type Parts = {
	status: ContentfulStatusCode;
	type: string;
	code: ErrorCode;
	detail: string;
	/** The name of the invalid field; null if the error isn't about a single field. */
	attr?: string | null;
	/** The allowed values of the field. */
	choices?: Choices | undefined;
	headers?: Record<string, string>;
	/** Logged by `onError`, for errors that the operator has to fix. */
	log?: string;
};

/** An error response. Any code can throw it; `onError` sends it. */
export class ApiError extends Error {
	readonly status: ContentfulStatusCode;
	readonly body: z.infer<typeof ErrorBody> & { code: ErrorCode };
	readonly headers: Record<string, string>;
	readonly log: string | undefined;

	constructor({ status, type, code, detail, attr = null, choices, headers = {}, log }: Parts) {
		super(detail);
		this.status = status;
		this.body = { type, code, detail, attr, ...(choices && { choices }) };
		this.headers = headers;
		this.log = log;
	}
}

/** 400: the field `attr` is invalid, or a rule is broken if `attr` is null. */
export const invalid = (
	attr: string | null,
	detail: string,
	code: ErrorCode = "invalid_input",
	choices?: Choices,
) =>
	new ApiError({
		status: 400,
		type: "validation_error",
		code,
		detail,
		attr,
		choices,
	});

/** 400: `attr` refers to an object that doesn't exist, or that the caller can't see. */
export const doesNotExist = (attr: string, pk: unknown) =>
	invalid(attr, `Invalid pk "${pk}" - object does not exist.`, "does_not_exist");

export const parseError = (why: string) =>
	new ApiError({
		status: 400,
		type: "invalid_request",
		code: "parse_error",
		detail: `JSON parse error - ${why}`,
	});

const challenge = { "WWW-Authenticate": "Bearer" };

export const notAuthenticated = () =>
	new ApiError({
		status: 401,
		type: "authentication_error",
		code: "not_authenticated",
		detail: "Authentication credentials were not provided.",
		headers: challenge,
	});

export const badCredentials = () =>
	new ApiError({
		status: 401,
		type: "authentication_error",
		code: "authentication_failed",
		detail: "Personal API key found in request Authorization header is invalid.",
		headers: challenge,
	});

export const forbidden = (
	detail = "You do not have permission to perform this action.",
	code: ErrorCode = "permission_denied",
) =>
	new ApiError({
		status: 403,
		type: "authentication_error",
		code,
		detail,
	});

export const notFound = (detail = "Not found.") =>
	new ApiError({
		status: 404,
		type: "invalid_request",
		code: "not_found",
		detail,
	});

/** 409: by default, other requests changed the object during every attempt (docs/api.md#conflicts). */
export const conflict = (
	detail = "Other requests are changing this object at the same time. Try again.",
) =>
	new ApiError({
		status: 409,
		type: "invalid_request",
		code: "conflict",
		detail,
	});

/** 409: the organization has as many objects of a kind as it can have (docs/api.md#limits). */
export const limitReached = () =>
	new ApiError({
		status: 409,
		type: "invalid_request",
		code: "limit_reached",
		detail:
			"The organization has as many objects of this kind as it can have. Delete some of them first.",
	});

/** 409: another request with the same `Idempotency-Key` is in progress (docs/api.md#safe-retries). */
export const idempotencyKeyInUse = () =>
	new ApiError({
		status: 409,
		type: "invalid_request",
		code: "idempotency_key_in_use",
		detail: "A request with this Idempotency-Key is in progress.",
		headers: { "Retry-After": "1" },
	});

/** 409: the first request with the `Idempotency-Key` was killed after its change (docs/api.md#safe-retries). */
export const outcomeUnknown = () =>
	new ApiError({
		status: 409,
		type: "invalid_request",
		code: "outcome_unknown",
		detail:
			"The first request with this Idempotency-Key ended before its response was stored. Its change was made. Check the state, then use a new key.",
	});

/** 400: the `Idempotency-Key` belongs to a request with another path or body, or by an API key with more access. */
export const idempotencyKeyReused = () =>
	new ApiError({
		status: 400,
		type: "invalid_request",
		code: "idempotency_key_reused",
		detail:
			"This Idempotency-Key was used for a request with another path or body, or by an API key with more access.",
	});

/** 400: `Tenantry-Version` isn't a version of the API (docs/api.md#versions). */
export const unknownVersion = (choices: string[]) =>
	new ApiError({
		status: 400,
		type: "invalid_request",
		code: "unknown_version",
		detail: "Tenantry-Version is not a version of this API.",
		choices,
	});

/** 412: `If-Match` or `If-None-Match` isn't fulfilled (docs/api.md#caching-and-conditional-requests). */
export const preconditionFailed = (
	detail = "The object has changed: its ETag is not in If-Match.",
) =>
	new ApiError({
		status: 412,
		type: "invalid_request",
		code: "precondition_failed",
		detail,
	});

export const methodNotAllowed = (method: string, allowed: string[]) =>
	new ApiError({
		status: 405,
		type: "invalid_request",
		code: "method_not_allowed",
		detail: `Method "${method}" not allowed.`,
		headers: {
			Allow: allowed.join(", "),
		},
	});

export const tooLarge = (bytes: number) =>
	new ApiError({
		status: 413,
		type: "invalid_request",
		code: "request_too_large",
		detail: `Request body is larger than ${bytes} bytes.`,
	});

const unsupported = (detail: string, headers?: Record<string, string>) =>
	new ApiError({
		status: 415,
		type: "invalid_request",
		code: "unsupported_media_type",
		detail,
		...(headers && { headers }),
	});

export const unsupportedMediaType = (type: string) =>
	unsupported(`Unsupported media type "${type}" in request.`);

/**
 * 415: the body has an unsupported `Content-Encoding`, which has the same status as an unsupported media type (RFC 9110, section
 * 8.4). `Accept-Encoding` tells the two apart (section 15.5.16).
 */
export const unsupportedEncoding = (encoding: string) =>
	unsupported(`Unsupported content encoding "${encoding}" in request.`, {
		"Accept-Encoding": "identity",
	});

export const throttled = (
	seconds: number,
	detail = `Request was throttled. Expected available in ${seconds} seconds.`,
) =>
	new ApiError({
		status: 429,
		type: "throttled_error",
		code: "throttled",
		detail,
		headers: { "Retry-After": String(seconds) },
	});

/** 429 until a time in milliseconds. */
export const throttledUntil = (at: number) =>
	throttled(Math.max(1, Math.ceil((at - Date.now()) / 1000)));

/** The stored response to an earlier request, thrown like an error (docs/api.md#safe-retries). */
export class Replay extends Error {
	readonly response: StoredResponse;

	constructor(response: StoredResponse) {
		super("This request was made before.");
		this.response = response;
	}
}

/** `body` is compact JSON, or null if the response has no body. */
type StoredResponse = {
	status: ContentfulStatusCode;
	headers: [string, string][];
	body: string | null;
};

/**
 * Returns the row.
 * @throws 404 if there is none
 */
export function orNotFound<T>(row: T | undefined | null): T {
	if (row === undefined || row === null) throw notFound();
	return row;
}

const serverError = () =>
	new ApiError({
		status: 500,
		type: "server_error",
		code: "error",
		detail: "A server error occurred.",
	});

/** When to repeat a request that got a 503, in seconds. */
export const RETRY_AFTER = "60";

/** 503: the database has no tables. */
export const notSetUp = () =>
	new ApiError({
		status: 503,
		type: "server_error",
		code: "not_set_up",
		detail: "The service is not set up yet: its database has no tables.",
		headers: { "Retry-After": RETRY_AFTER },
		log: "The database has no tables. Stop the server and run npm run setup, or for a deployed worker npm run deploy.",
	});

/** Returns the `Link` header that leads to the documentation of an error code. */
const helpFor = (code: string) => `</docs/api#${code}>; rel="help"`;

export const respond = (c: Context, { body, status, headers }: ApiError) => {
	const { Link: link } = headers;
	const links = [...(link ? [link] : []), helpFor(body.code)];
	return c.json(body, status, { ...headers, Link: links.join(", ") });
};

const replay = (c: Context, { status, headers, body }: StoredResponse) => {
	for (const [name, value] of headers) c.header(name, value);
	c.header("Idempotency-Replayed", "true");
	return c.newResponse(body && formatted(c, body), status);
};

/**
 * Sends the error response that was thrown. Any other error is logged with the request's id and returns a 500 that reveals
 * nothing.
 * @param translate converts a database error to an error response; returns undefined if the error is unexpected
 */
export const onError =
	(translate: (error: Error) => ApiError | undefined): ErrorHandler<App> =>
	(error, c) => {
		if (error instanceof Replay) return replay(c, error.response);
		const expected = error instanceof ApiError ? error : translate(error);
		if (!expected || expected.log) logRequestError(c.var.requestId, expected?.log ?? error);
		return respond(c, expected ?? serverError());
	};

export const onNotFound: NotFoundHandler<App> = (c) => respond(c, notFound("Endpoint not found."));
