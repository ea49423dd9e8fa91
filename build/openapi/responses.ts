/** The responses and request bodies of operations. */
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { MEDIA } from "../../src/http/download.ts";
import { ErrorBody } from "../../src/http/error_body.ts";
import { documentedAs } from "../../src/http/router.ts";
import { answerExample, bodyExample, errorExample } from "./examples.ts";
import { headersOf } from "./headers.ts";
import { hasTag, isBelowApi, isRetryable, needsKey, type Route, takesIfMatch } from "./route.ts";
import { content, type Json, responseOf, schemaOf, text } from "./schemas.ts";

/**
 * Returns the request body. An empty body counts as `{}`, so a body is required only if `{}` is
 * invalid.
 */
export function requestBody({ id, operation: { body, lines, form } }: Route) {
	const example = bodyExample(id);
	if (body)
		return {
			required: !(documentedAs(body) ?? body).safeParse({}).success,
			content: {
				...content(schemaOf(body, true), undefined, example).content,
				// Bytes, so that clients can send a file.
				...(lines &&
					content({ type: "string", format: "binary" }, "application/x-ndjson", linesOf(example))
						.content),
			},
		};
	return form && content(schemaOf(form, true), "application/x-www-form-urlencoded", example);
}

/** Returns an example that is a list as JSON Lines. */
const linesOf = ({ example }: { example?: unknown }) =>
	Array.isArray(example) ? { example: example.map((line) => JSON.stringify(line)).join("\n") } : {};

const DESCRIPTIONS: Record<number, string> = {
	200: "OK",
	201: "Created",
	202: "Accepted",
	204: "Deleted",
	206: "A part of the file",
	303: "Continue at Location",
	304: "Not modified",
	400: "The request is invalid",
	401: "The key is missing or invalid",
	403: "The key or its owner isn't allowed to do this",
	404: "Not found",
	409: "Another request is changing the object, or has the same Idempotency-Key",
	410: "The invite has expired",
	412: "The object has changed: its ETag isn't in If-Match",
	413: "The body is too large",
	415: "The body is not JSON",
	416: "The file has none of the bytes in Range",
	429: "Too many requests",
	503: "Unavailable",
};

/** Returns the statuses of errors that follow from a route's method, path and metadata. */
function errorStatuses(route: Route) {
	const { method, path, open, operation } = route;
	const { body, file, form, media, sameOrigin } = operation;
	const hasParameters = path.includes("{");
	const page = media === "text/html";
	return [
		...(isBelowApi(route) || method !== "GET" ? [400] : []),
		// Accepting an invite validates a key if one is sent.
		...(open && (page || !hasParameters) ? [] : [401, 403]),
		...(needsKey(path) ? [401] : []),
		...(sameOrigin ? [403] : []),
		// Accepting an invite may require signing in; another request may be faster.
		...(page && method === "POST" ? [403, 409] : []),
		...(open && method === "GET" && !hasParameters && !operation.query ? [] : [429]),
		...(hasParameters ? [404] : []),
		...(method !== "GET" && (open ? isBelowApi(route) : isRetryable(route) || hasParameters)
			? [409]
			: []),
		...(takesIfMatch(route) ? [412] : []),
		...(page ? [410] : []),
		...(body || form ? [413] : []),
		...(body ? [415] : []),
		...(file ? [416] : []),
	];
}

/** The codes of errors by status (docs/api.md#errors). */
const CODES: Record<number, string[]> = {
	401: ["not_authenticated", "authentication_failed"],
	403: ["permission_denied"],
	404: ["not_found"],
	409: ["conflict", "moving"],
	412: ["precondition_failed"],
	413: ["request_too_large"],
	415: ["unsupported_media_type"],
	416: ["range_not_satisfiable"],
	429: ["throttled"],
};

/** The codes of a 400 for an invalid body. */
const BODY_CODES = [
	"parse_error",
	"required",
	"null",
	"blank",
	"invalid_choice",
	"max_length",
	"max_value",
	"min_value",
	"not_a_list",
	"empty",
];

/** The status of errors by an operation's own rules, if it isn't 400. */
const RULE_STATUSES: Record<string, number> = { sign_in_required: 403 };

/** Returns the operation's own codes with this status, with their descriptions. */
const rulesOf = (status: number, own: Record<string, string>) =>
	Object.entries(own).filter(([code]) => (RULE_STATUSES[code] ?? 400) === status);

function codesOf(status: number, route: Route, own: string[]) {
	const { body, query } = route.operation;
	if (status === 409 && isRetryable(route))
		return ["conflict", "idempotency_key_in_use", "limit_reached", "moving", "outcome_unknown"];
	if (status !== 400) return [...(CODES[status] ?? []), ...own];
	const ofHeaders = [
		...(isBelowApi(route) ? ["unknown_field", "unknown_version"] : []),
		...(isRetryable(route) ? ["idempotency_key_reused"] : []),
	];
	const ofQuery = query && !body ? ["invalid_choice", "max_length"] : [];
	const codes = ["invalid_input", ...ofHeaders, ...ofQuery, ...(body ? BODY_CODES : []), ...own];
	return [...new Set(codes)];
}

/**
 * Returns an error response. `x-codes` lists all possible codes. The codes of the operation's own
 * rules have descriptions.
 */
function errorResponse(status: number, route: Route, own: Record<string, string>) {
	const isPage = route.operation.media === "text/html";
	const rules = rulesOf(status, own);
	const codes = isPage
		? []
		: codesOf(
				status,
				route,
				rules.map(([code]) => code),
			);
	return {
		description: [
			DESCRIPTIONS[status],
			...(codes.length > 0 ? [`: ${codes.map((code) => `\`${code}\``).join(", ")}`] : []),
			...(rules.length > 0 ? ["\n"] : []),
			...rules.map(([code, when]) => `\n- \`${code}\`: ${when}`),
		].join(""),
		...(codes.length > 0 && { "x-codes": codes }),
		...(isPage
			? text("text/html")
			: content(schemaOf(ErrorBody), undefined, errorExample(route.id, status))),
	};
}

/** Returns the responses of an operation by status, without the headers that all responses have. */
function partsOf(route: Route, own: Record<string, string>): [number, object][] {
	const { status = 200, media, file, also = {}, download } = route.operation;
	const response = responseOf(route.operation);
	const example = answerExample(route.id);
	const json = response && content(schemaOf(response), undefined, example).content;
	const files = download ? Object.values(MEDIA).map((type) => text(type).content) : [];
	const binary = file && {
		content: Object.assign(
			{},
			// Generators decode text, also where the format says that it is bytes.
			...file.map((type) =>
				type.startsWith("text/")
					? text(type).content
					: content({ type: "string", format: "binary" }, type).content,
			),
		),
	};
	const success = {
		...binary,
		...(json && { content: Object.assign({}, json, ...files) }),
		...(media && text(media, example)),
	};
	return [
		[status, success],
		...(binary ? [[206, binary] satisfies [number, object]] : []),
		...(hasTag(route) ? [[304, {}] satisfies [number, object]] : []),
		...Object.entries(also).map(([status, shape]): [number, object] => [
			Number(status),
			// The recorded answer is this one if the other has no body.
			shape instanceof z.ZodVoid
				? {}
				: content(schemaOf(shape), undefined, json || media ? undefined : example),
		]),
		...errorStatuses(route).map((status): [number, object] => [
			status,
			errorResponse(status, route, own),
		]),
	];
}

/** Names of responses that many operations share. */
const NAMES: Record<number, string> = {
	304: "NotModified",
	401: "Unauthorized",
	403: "Forbidden",
	404: "NotFound",
	409: "Conflict",
	412: "PreconditionFailed",
	413: "ContentTooLarge",
	415: "UnsupportedMediaType",
	429: "TooManyRequests",
};

/** The shared responses, for `components.responses`. */
export const responses: Json = {};

/** Returns a reference if this is a shared response, otherwise the response itself. */
function shared(
	status: number,
	route: Route,
	{ response, own }: { response: object; own: Record<string, string> },
) {
	const name = NAMES[status];
	if (name === undefined || !isBelowApi(route) || rulesOf(status, own).length > 0) return response;
	const id = status === 409 && isRetryable(route) ? `${name}OrKeyInUse` : name;
	responses[id] ??= response;
	if (!isDeepStrictEqual(responses[id], response))
		throw new Error(`${route.method} ${route.path} has a different ${id} than previous routes.`);
	return { $ref: `#/components/responses/${id}` };
}

/**
 * Returns all responses of an operation. `own` has the codes of the operation's own rules, with
 * descriptions.
 */
export const responsesOf = (route: Route, own: Record<string, string> = {}) =>
	Object.fromEntries(
		partsOf(route, own).map(([status, parts]) => [
			status,
			shared(status, route, {
				response: {
					description: DESCRIPTIONS[status],
					headers: headersOf({ status, route }),
					...parts,
				},
				own,
			}),
		]),
	);
