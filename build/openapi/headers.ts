/** The headers of requests and responses (docs/api.md#headers). */
import { CURRENT_VERSION, VERSIONS } from "../../src/http/versions.ts";
import { hasBody, hasTag, isBelowApi, isRetryable, type Route, takesIfMatch } from "./route.ts";
import type { Json } from "./schemas.ts";

const STRING = { type: "string" };
const INTEGER = { type: "integer", minimum: 0 };

const isFile = ({ operation }: Route) => operation.file !== undefined;

type RequestHeader = {
	description: string;
	schema: Json;
	/** Only a value that suits every request: tools that import the document send it. */
	example?: string;
	/** Whether a route accepts the header. */
	on: (route: Route) => boolean;
};

/** The headers of requests, except `Authorization`, which the security scheme describes. */
const REQUEST_HEADERS: Record<string, RequestHeader> = {
	"Tenantry-Version": {
		description:
			"The version of the API that the response follows. By default, the version that was the newest when the key was created.",
		schema: { ...STRING, enum: VERSIONS.map(({ date }) => date) },
		example: CURRENT_VERSION,
		on: isBelowApi,
	},
	Prefer: {
		description:
			"`handling=strict` (RFC 7240): a field or query parameter that the operation doesn't use is a 400 `unknown_field`. By default, it is ignored.",
		schema: STRING,
		example: "handling=strict",
		on: isBelowApi,
	},
	"Idempotency-Key": {
		description:
			"Makes the request safe to repeat: for 24 hours, the same request with the same key returns the first response again, and nothing is done twice. Use a random UUID. Without an API key, the header is ignored.",
		schema: { ...STRING, minLength: 1, maxLength: 255, pattern: "^[ -~]+$" },
		on: isRetryable,
	},
	"If-None-Match": {
		description:
			"The `ETag` of an earlier response. If the content hasn't changed, the response is a 304 without a body.",
		schema: STRING,
		on: hasTag,
	},
	Range: {
		description:
			"The part of the file to return (RFC 9110), such as `bytes=0-499`, `bytes=500-` or `bytes=-500` for the last 500 bytes. Several ranges return the whole file.",
		schema: STRING,
		on: isFile,
	},
	"If-Range": {
		description:
			"The `ETag` of the file of which you have a part already. If it is another file now, the response is a 200 with all of it.",
		schema: STRING,
		on: isFile,
	},
	"If-Match": {
		description:
			"The `ETag` of the object. If the object has changed since, the response is a 412 and nothing is done. `*` matches every object that exists.",
		schema: STRING,
		on: takesIfMatch,
	},
};

/** Returns the header parameters of an operation. */
export const requestHeadersOf = (route: Route) =>
	Object.entries(REQUEST_HEADERS)
		.filter(([, { on }]) => on(route))
		.map(([name, { description, schema, example }]) => ({
			name,
			in: "header",
			description,
			schema,
			...(example !== undefined && { example }),
		}));

type Response = { status: number; route: Route };

type ResponseHeader = {
	description: string;
	schema?: Json;
	/** Whether a response can have the header. */
	on: (response: Response) => boolean;
	/** Whether all these responses have the header. */
	always?: true;
};

/** Whether the response is a file or a part of it. */
const isPart = ({ status, route }: Response) => isFile(route) && (status === 200 || status === 206);

const isError = ({ status }: Response) => status >= 400;

/** The headers of responses in the document. */
const RESPONSE_HEADERS: Record<string, ResponseHeader> = {
	"X-Request-Id": {
		description:
			"Identifies the request in the service's log. Yours, if the request has a valid `X-Request-Id`.",
		on: () => true,
		always: true,
	},
	"Server-Timing": {
		description:
			"What the request cost, such as the number of round trips to the database (`d1_trips`).",
		on: () => true,
		always: true,
	},
	"Tenantry-Version": {
		description: "The version of the API that the response follows.",
		schema: { ...STRING, format: "date" },
		on: () => true,
		always: true,
	},
	Deprecation: {
		description:
			"Since when there is a newer version than the one of this response: `@` and the Unix time (RFC 9745). Missing if it is the newest.",
		on: ({ route }) => isBelowApi(route),
	},
	Sunset: {
		description:
			"Until when the version of this response is served (RFC 8594). Missing if it is the newest.",
		on: ({ route }) => isBelowApi(route),
	},
	"Preference-Applied": {
		description:
			"The preferences in `Prefer` that the request was handled with (RFC 7240). Missing if there were none.",
		on: ({ route }) => isBelowApi(route),
	},
	"Cache-Control": {
		description:
			"`private, no-cache` if there is an `ETag`, and `no-transform` if it is a file: you can store the response, but check it with `If-None-Match` before you use it again. Otherwise `no-store`.",
		on: ({ status, route }) =>
			isBelowApi(route) ||
			status === 303 ||
			route.operation.isFile === true ||
			route.operation.media === "text/html",
	},
	Location: {
		description: "The page to continue at.",
		on: ({ status }) => status === 303,
		always: true,
	},
	Vary: {
		description: "The headers of the request that the response depends on.",
		on: () => true,
	},
	ETag: {
		description: "A hash of the response's content, for `If-None-Match` and `If-Match`.",
		on: ({ status, route }) =>
			(hasTag(route) || route.operation.isFile === true) && [200, 206, 304].includes(status),
		always: true,
	},
	"Content-Disposition": {
		description: "Suggests a name for the file. Missing unless the response is a file.",
		on: ({ status, route }) =>
			(status === 200 && route.operation.download === true) || isPart({ status, route }),
	},
	"Accept-Ranges": {
		description: "`bytes`: you can ask for a part of the file with `Range`.",
		on: isPart,
	},
	"Content-Range": {
		description:
			"The part of the file in the response, such as `bytes 0-499/1234`, or with a 416 its size: `bytes */1234`.",
		on: ({ status }) => status === 206 || status === 416,
		always: true,
	},
	"Content-Digest": {
		description:
			"The SHA-256 of the response's content (RFC 9530), if it is the whole file and not too large.",
		on: ({ status, route }) => status === 200 && isFile(route),
	},
	"Repr-Digest": {
		description:
			"The SHA-256 of the whole file (RFC 9530), also if the response has a part of it. Missing if the file is too large.",
		on: isPart,
	},
	"x-d1-bookmark": {
		description:
			"The state of the database that the response shows. Send it with a later request to see at least this state. Missing if the request didn't use the database.",
		on: () => true,
	},
	"Idempotency-Replayed": {
		description:
			"`true`: this is the response to an earlier request with the same `Idempotency-Key`. Else missing.",
		schema: { ...STRING, const: "true" },
		on: ({ status, route }) =>
			isRetryable(route) && (status < 300 || status === 400 || status === 409),
	},
	"RateLimit-Policy": {
		description:
			'How many requests a key may make: `"requests";q=480;w=60` are 480 in 60 seconds. Missing if the request was rejected before it was counted.',
		on: ({ route }) => isBelowApi(route),
	},
	RateLimit: {
		description:
			"How many requests of the key are left, which is known only if there are none. Missing for other limits.",
		on: ({ status }) => status === 429,
	},
	"Retry-After": {
		description: "How many seconds to wait before you try again.",
		schema: INTEGER,
		on: ({ status }) => [409, 429, 503].includes(status),
	},
	"WWW-Authenticate": {
		description:
			"Begins with `Bearer`: the request needs a key, or one with another scope. `resource_metadata` says where apps get tokens (RFC 9728).",
		schema: { ...STRING, pattern: "^Bearer" },
		on: ({ status }) => status === 401 || status === 403,
	},
	Link: {
		description:
			'Where to read more (RFC 8288): about the error (`rel="help"`), or what the action is about.',
		on: (response) => isError(response) || isWithoutBody(response),
	},
};

const isWithoutBody = ({ status, route: { operation } }: Response) =>
	status === 200 && !hasBody(operation);

/** The headers, for `components.headers`. */
export const headers = Object.fromEntries(
	Object.entries(RESPONSE_HEADERS).map(([name, { description, schema = STRING, always }]) => [
		name,
		{ description, ...(always && { required: true }), schema },
	]),
);

export const headersOf = (response: Response) =>
	Object.fromEntries(
		Object.entries(RESPONSE_HEADERS)
			.filter(([, { on }]) => on(response))
			.map(([name, { description }]) => [
				name,
				// A file has no ETag.
				name === "ETag" && response.status === 200 && response.route.operation.download
					? { description, schema: STRING }
					: { $ref: `#/components/headers/${name}` },
			]),
	);
