/** The responses of operations, and their request bodies. */
import * as z from "zod";
import { ErrorBody } from "../../src/http/errors.ts";
import { describe } from "../../src/http/reference.ts";
import { documentedAs, type Operation, Paging } from "../../src/http/router.ts";
import { headersOf } from "./headers.ts";
import { content, namedPage, schemaOf, text } from "./schemas.ts";

describe(Paging, {
	limit: "How many results a page has at most.",
	offset: "The index of the first result.",
	cursor: "Where the page starts: part of the link `next`, which is all it is for.",
});

describe(ErrorBody, {
	type: "The kind of error.",
	code: "The error, for programs.",
	detail: "The error, for people.",
	attr: "The field or parameter that is wrong, with two underscores between nested names; null if it isn't about a single one.",
	choices: "The values that are allowed, if `code` is `invalid_choice`.",
});

/** An empty body counts as `{}`, so a body is required only if `{}` is invalid. */
export function requestBody({ body, lines, form }: Operation) {
	if (body)
		return {
			required: !(documentedAs(body) ?? body).safeParse({}).success,
			content: {
				...content(schemaOf(body, true)).content,
				...(lines && text("application/x-ndjson").content),
			},
		};
	return form && content(schemaOf(form, true), "application/x-www-form-urlencoded");
}

const DESCRIPTIONS: Record<number, string> = {
	200: "OK",
	201: "Created",
	204: "Deleted",
	304: "Not modified",
	400: "The request is wrong",
	401: "The key is missing or invalid",
	403: "The key or its owner may not do this",
	404: "Not found",
	409: "Another request is changing the object, or has the same Idempotency-Key",
	410: "The invite has expired",
	412: "The object is not as If-Match says",
	413: "The body is too large",
	415: "The body is not JSON",
	429: "Too many requests",
	503: "Unavailable",
};

/** The statuses of errors, as far as a route's method, path and metadata determine them. */
function errorStatuses(
	method: string,
	path: string,
	{ body, form, media }: Operation,
	open: boolean,
) {
	const hasParameters = path.includes("{");
	const page = media === "text/html";
	return [
		...(path.startsWith("/api/") || method !== "GET" ? [400] : []),
		...(open && (page || !hasParameters) ? [] : [401]),
		...(open && !hasParameters ? [] : [429]),
		...(open ? [] : [403]),
		...(hasParameters ? [404] : []),
		...(path.startsWith("/api/") && (method === "POST" || (hasParameters && method !== "GET"))
			? [409]
			: []),
		...(hasParameters && !open && method !== "GET" ? [412] : []),
		...(page ? [410] : []),
		...(body || form ? [413] : []),
		...(body ? [415] : []),
	];
}

/** The codes of errors by status (docs/api.md#errors). */
const CODES: Record<number, string[]> = {
	401: ["not_authenticated", "authentication_failed"],
	403: ["permission_denied"],
	404: ["not_found"],
	409: ["conflict"],
	412: ["precondition_failed"],
	413: ["request_too_large"],
	415: ["unsupported_media_type"],
	429: ["throttled"],
};

/** The codes of a 400 for what is wrong in a body. */
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

function codesOf(
	status: number,
	{ method, path }: { method: string; path: string },
	{ body, query }: Operation,
	own: string[],
) {
	const isRetryable = method === "POST" && path.startsWith("/api/");
	if (status === 409 && isRetryable) return ["conflict", "idempotency_key_in_use"];
	if (status !== 400) return CODES[status] ?? [];
	const ofHeaders = [
		...(path.startsWith("/api/") ? ["unknown_version"] : []),
		...(isRetryable ? ["idempotency_key_reused"] : []),
	];
	const ofQuery = query && !body ? ["invalid_choice", "max_length"] : [];
	return ["invalid_input", ...ofHeaders, ...ofQuery, ...(body ? BODY_CODES : []), ...own];
}

/**
 * An error response. `x-codes` lists every code it may have; those of the operation's own rules are
 * explained.
 */
function errorResponse(
	status: number,
	route: { method: string; path: string },
	operation: Operation,
	own: Record<string, string>,
) {
	const isPage = operation.media === "text/html";
	const codes = isPage ? [] : codesOf(status, route, operation, Object.keys(own));
	const rules = status === 400 ? Object.entries(own) : [];
	return {
		description: [
			DESCRIPTIONS[status],
			...(codes.length > 0 ? [`: ${codes.map((code) => `\`${code}\``).join(", ")}`] : []),
			...(rules.length > 0 ? ["\n"] : []),
			...rules.map(([code, when]) => `\n- \`${code}\`: ${when}`),
		].join(""),
		...(codes.length > 0 && { "x-codes": codes }),
		...(isPage ? text("text/html") : content(schemaOf(ErrorBody))),
	};
}

/** The responses of an operation by status, without what all have. */
function partsOf(
	method: string,
	path: string,
	operation: Operation,
	open: boolean,
	own: Record<string, string>,
): [number, object][] {
	const { status = 200, answer, media, also = {}, within } = operation;
	const success = {
		...(answer && content(schemaOf(namedPage(answer, within)))),
		...(media && text(media)),
	};
	const isConditional = method === "GET" && path.startsWith("/api/") && (answer || media);
	return [
		[status, success],
		...(isConditional ? [[304, {}] satisfies [number, object]] : []),
		...Object.entries(also).map(([status, shape]): [number, object] => [
			Number(status),
			shape instanceof z.ZodVoid ? {} : content(schemaOf(shape)),
		]),
		...errorStatuses(method, path, operation, open).map((status): [number, object] => [
			status,
			errorResponse(status, { method, path }, operation, own),
		]),
	];
}

/**
 * @param open whether the route needs no key
 * @param own the codes of the operation's own rules
 */
export const responsesOf = (
	method: string,
	path: string,
	operation: Operation,
	open: boolean,
	own: Record<string, string> = {},
) =>
	Object.fromEntries(
		partsOf(method, path, operation, open, own).map(([status, parts]) => [
			status,
			{
				description: DESCRIPTIONS[status],
				headers: headersOf({ status, guarded: !open, operation }),
				...parts,
			},
		]),
	);
