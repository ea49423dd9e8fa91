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
		...(!open && (method === "POST" || (hasParameters && method !== "GET")) ? [409] : []),
		...(hasParameters && !open && method !== "GET" ? [412] : []),
		...(page ? [410] : []),
		...(body || form ? [413] : []),
		...(body ? [415] : []),
	];
}

/** The bodies of an operation's responses by status; null for none. */
function bodies(method: string, path: string, operation: Operation, open: boolean) {
	const { status = 200, answer, media, also = {}, within } = operation;
	const success = {
		...(answer && content(schemaOf(namedPage(answer, within)))),
		...(media && text(media)),
	};
	const others = Object.entries(also).map(([status, shape]): [number, object] => [
		Number(status),
		shape instanceof z.ZodVoid ? {} : content(schemaOf(shape)),
	]);
	const error = media === "text/html" ? text(media) : content(schemaOf(ErrorBody));
	const errors = errorStatuses(method, path, operation, open).map((status): [number, object] => [
		status,
		error,
	]);
	const notModified: [number, object][] =
		method === "GET" && path.startsWith("/api/") && (answer || media) ? [[304, {}]] : [];
	return [[status, success] as [number, object], ...notModified, ...others, ...errors];
}

/** @param open whether the route needs no key */
export const responsesOf = (method: string, path: string, operation: Operation, open: boolean) =>
	Object.fromEntries(
		bodies(method, path, operation, open).map(([status, body]) => [
			status,
			{
				description: DESCRIPTIONS[status],
				headers: headersOf({ status, guarded: !open, operation }),
				...body,
			},
		]),
	);
