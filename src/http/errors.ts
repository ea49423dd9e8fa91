import type { Context, ErrorHandler, NotFoundHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type * as z from "zod";
import type { App } from "../env.ts";
import { logRequestError } from "../lib/log.ts";
import type { ErrorCode } from "./codes.ts";
import type { ErrorBody } from "./error_body.ts";
import { formatted } from "./json.ts";

declare module "hono" {
	interface ContextVariableMap {
		/** The scopes that a token for the request needs, separated by spaces. */
		needed_scopes: string | undefined;
	}
}

type Choices = z.infer<typeof ErrorBody>["choices"];

type Parts = {
	status: ContentfulStatusCode;
	code: ErrorCode;
	detail: string;
	/** By default, the type that follows from the status. */
	type?: string;
	/** The name of the invalid field; null if the error isn't about a single field. */
	attr?: string | null;
	/** The allowed values of the field. */
	choices?: Choices | undefined;
	headers?: Record<string, string>;
	/** Logged by `onError`, for errors that the operator has to fix. */
	log?: string;
};

function typeOf(status: number) {
	if (status === 401 || status === 403) return "authentication_error";
	if (status === 429) return "throttled_error";
	return status < 500 ? "invalid_request" : "server_error";
}

/** An error response. Any code can throw it; `onError` sends it. */
export class ApiError extends Error {
	readonly status: ContentfulStatusCode;
	readonly body: z.infer<typeof ErrorBody> & { code: ErrorCode };
	readonly headers: Record<string, string>;
	readonly log: string | undefined;

	constructor({ status, code, detail, attr = null, choices, headers = {}, log, ...parts }: Parts) {
		super(detail);
		const { type = typeOf(status) } = parts;
		this.status = status;
		this.body = { type, code, detail, attr, ...(choices && { choices }) };
		this.headers = headers;
		this.log = log;
	}
}

const error = (
	status: ContentfulStatusCode,
	code: ErrorCode,
	detail: string,
	headers?: Record<string, string>,
) => new ApiError({ status, code, detail, ...(headers && { headers }) });

/** 400: the field `attr` is invalid, or a rule is broken if `attr` is null. */
export const invalid = (
	attr: string | null,
	detail: string,
	code: ErrorCode = "invalid_input",
	choices?: Choices,
) => new ApiError({ status: 400, type: "validation_error", code, detail, attr, choices });

/** 400: `attr` refers to an object that doesn't exist, or that the caller can't see. */
export const doesNotExist = (attr: string, pk: unknown) =>
	invalid(attr, `Invalid pk "${pk}" - object does not exist.`, "does_not_exist");

export const parseError = (why: string) => error(400, "parse_error", `JSON parse error - ${why}`);

/** Asks for a token (RFC 6750, section 3). `respond` adds where to get one. */
const challenge = (parameters = "") => ({ "WWW-Authenticate": `Bearer${parameters}` });

export const notAuthenticated = () =>
	error(401, "not_authenticated", "Authentication credentials were not provided.", challenge());

const BAD_CREDENTIALS = "Personal API key found in request Authorization header is invalid.";

export const badCredentials = () =>
	error(401, "authentication_failed", BAD_CREDENTIALS, challenge(' error="invalid_token"'));

export const forbidden = (
	detail = "You do not have permission to perform this action.",
	code: ErrorCode = "permission_denied",
) => error(403, code, detail);

/**
 * 403: the key lacks the scope. An app can then ask for it.
 * @param held scopes that the app has and should ask for again, so that it keeps them
 */
export const insufficientScope = (scope: string, held: string[] = []) =>
	error(
		403,
		"permission_denied",
		`API key missing required scope '${scope}'`,
		challenge(` error="insufficient_scope", scope="${[...held, scope].join(" ")}"`),
	);

export const notFound = (detail = "Not found.") => error(404, "not_found", detail);

/** 409: other requests changed the object during every attempt (docs/api.md#conflicts). */
export const conflict = (
	detail = "Other requests are changing this object at the same time. Try again.",
) => error(409, "conflict", detail);

const LIMIT_REACHED =
	"The organization has as many objects of this kind as it can have. Delete some of them first.";

/** 409: the organization has as many objects of a kind as it can have (docs/api.md#limits). */
export const limitReached = () => error(409, "limit_reached", LIMIT_REACHED);

const KEY_IN_USE = "A request with this Idempotency-Key is in progress.";

/** 409: a request with this `Idempotency-Key` is in progress (docs/api.md#safe-retries). */
export const idempotencyKeyInUse = () =>
	error(409, "idempotency_key_in_use", KEY_IN_USE, { "Retry-After": "1" });

const OUTCOME_UNKNOWN =
	"The first request with this Idempotency-Key ended before its response was stored. Its change was made. Check the state, then use a new key.";

/**
 * 409: the first request with the `Idempotency-Key` was killed after its change
 * (docs/api.md#safe-retries).
 */
export const outcomeUnknown = () => error(409, "outcome_unknown", OUTCOME_UNKNOWN);

const KEY_REUSED =
	"This Idempotency-Key was used for a request with another path or body, or by an API key with more access.";

export const idempotencyKeyReused = () => error(400, "idempotency_key_reused", KEY_REUSED);

const UNKNOWN_VERSION = "Tenantry-Version is not a version of this API.";

/** 400: `Tenantry-Version` isn't a version of the API (docs/api.md#versions). */
export const unknownVersion = (choices: string[]) =>
	new ApiError({ status: 400, code: "unknown_version", detail: UNKNOWN_VERSION, choices });

/** 412: a failed condition (docs/api.md#caching-and-conditional-requests). */
export const preconditionFailed = (
	detail = "The object has changed: its ETag is not in If-Match.",
) => error(412, "precondition_failed", detail);

/** 416: the file has none of the bytes that `Range` asks for. */
export const rangeNotSatisfiable = (bytes: number) =>
	error(416, "range_not_satisfiable", `The file has ${bytes} bytes.`, {
		"Content-Range": `bytes */${bytes}`,
	});

export const methodNotAllowed = (method: string, allowed: string[]) =>
	error(405, "method_not_allowed", `Method "${method}" not allowed.`, {
		Allow: allowed.join(", "),
	});

export const tooLarge = (bytes: number) =>
	error(413, "request_too_large", `Request body is larger than ${bytes} bytes.`);

export const unsupportedMediaType = (type: string) =>
	error(415, "unsupported_media_type", `Unsupported media type "${type}" in request.`);

/**
 * 415: `Accept-Encoding` tells it from an unsupported media type (RFC 9110, sections 8.4 and
 * 15.5.16).
 */
export const unsupportedEncoding = (encoding: string) =>
	error(415, "unsupported_media_type", `Unsupported content encoding "${encoding}" in request.`, {
		"Accept-Encoding": "identity",
	});

export const throttled = (
	seconds: number,
	detail = `Request was throttled. Expected available in ${seconds} seconds.`,
) => error(429, "throttled", detail, { "Retry-After": String(seconds) });

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

/** Returns the row, or throws 404. */
export function orNotFound<T>(row: T | undefined | null): T {
	if (row === undefined || row === null) throw notFound();
	return row;
}

const serverError = () => error(500, "error", "A server error occurred.");

/** When to repeat a request that got a 503, in seconds. */
export const RETRY_AFTER = "60";

/** 503: the database has no tables. */
export const notSetUp = () =>
	new ApiError({
		status: 503,
		code: "not_set_up",
		detail: "The service is not set up yet: its database has no tables.",
		headers: { "Retry-After": RETRY_AFTER },
		log: "The database has no tables. Stop the server and run npm run setup, or for a deployed worker npm run deploy.",
	});

/** 409: the organization moves to another deployment (docs/operating/README.md#moving-an-organization). */
export const moving = () =>
	error(
		409,
		"moving",
		"The organization is being moved, so it can't be changed for now. Reads still work. Try again later.",
		{ "Retry-After": RETRY_AFTER },
	);

/** Returns the `Link` header that leads to the documentation of an error code. */
const helpFor = (code: string) => `</docs/api#${code}>; rel="help"`;

/**
 * Adds to a challenge where an app learns how to get a token (RFC 9728, section 5.1), and which
 * scopes it needs.
 */
function withMetadata(c: Context, challenge: string | undefined) {
	const [resource] = /^\/(?:api|mcp)(?=\/|$)/.exec(c.req.path) ?? [];
	if (!challenge || !resource) return challenge && { "WWW-Authenticate": challenge };
	const url = new URL(`/.well-known/oauth-protected-resource${resource}`, c.req.url);
	const scopes = challenge.includes("scope=") ? undefined : c.get("needed_scopes");
	const comma = challenge.includes("=") ? "," : "";
	const needed = scopes ? `, scope="${scopes}"` : "";
	return {
		"WWW-Authenticate": `${challenge}${comma} resource_metadata="${url.href}"${needed}`,
	};
}

export const respond = (c: Context, { body, status, headers }: ApiError) => {
	const { Link: link, "WWW-Authenticate": challenge } = headers;
	const links = [...(link ? [link] : []), helpFor(body.code)];
	const added = { ...withMetadata(c, challenge), Link: links.join(", ") };
	return c.json(body, status, { ...headers, ...added });
};

const replay = (c: Context, { status, headers, body }: StoredResponse) => {
	for (const [name, value] of headers) c.header(name, value);
	c.header("Idempotency-Replayed", "true");
	return c.newResponse(body && formatted(c, body), status);
};

/**
 * Sends the error response that was thrown. Any other error is logged with the request's id and
 * returns a 500 that reveals nothing.
 * @param translate converts a database error to an error response; returns undefined if the error
 * is unexpected
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
