import { type Handler, Hono } from "hono";
import { createMiddleware } from "hono/factory";
import type { BlankInput, HandlerResponse, Input } from "hono/types";
import * as z from "zod";
import type { App } from "../env.ts";
import { lazy } from "../lib/lazy.ts";
import type { FeedPage } from "./feed_page.ts";
import type { Envelope } from "./page.ts";
import type { Documented } from "./response_types.ts";

/** Returns a router that matches every path with and without a trailing slash. */
export const router = () => new Hono<App>({ strict: false });

/** A route's metadata, from which scripts/openapi.ts generates the OpenAPI document. */
export type Operation = {
	status?: 200 | 201 | 202 | 204 | 303;
	response?: z.ZodType;
	/** The object whose fields the page has in addition to its own. */
	within?: z.ZodType;
	/** The response is a static file. */
	isFile?: true;
	/** Other responses that aren't errors, by status. `z.void()` means no body. */
	also?: Record<number, z.ZodType>;
	/** The media type of a response that isn't JSON. */
	media?: "text/html" | "text/javascript" | "text/xml";
	body?: z.ZodType;
	/** The body can also be JSON Lines. */
	lines?: boolean;
	/** The body is an HTML form with these fields, not JSON. */
	form?: z.ZodType;
	query?: z.ZodObject;
	/** Pages of other origins are rejected. */
	sameOrigin?: true;
	/** `Accept` can select a file of all results (src/http/download.ts). */
	download?: true;
};

const documentation = new WeakMap<z.core.$ZodType, z.ZodType>();

/** Returns `shape`, which the OpenAPI document shows as `as`. */
export function documentAs<T extends z.ZodType>(shape: T, as: z.ZodType) {
	documentation.set(shape, as);
	return shape;
}

/** Returns the schema that documents `shape` instead, if there is one. */
export const documentedAs = (shape: z.core.$ZodType) => documentation.get(shape);

const operations = new WeakMap<object, Operation>();

/** Attaches metadata to a middleware, for the routes that use it. */
export function describeRoute<T extends object>(middleware: T, operation: Operation) {
	operations.set(middleware, operation);
	return middleware;
}

/** Returns the metadata that `describeRoute` attached to a middleware, or an empty object. */
export const descriptionOf = (handler: Handler): Operation => operations.get(handler) ?? {};

/** Documents a route. `R`: the response's type, `I`: the input of typed clients. */
const document = <R extends HandlerResponse<unknown> = Response, I extends Input = BlankInput>(
	operation: Operation,
) =>
	describeRoute(
		createMiddleware<App, string, I, R>((_, next) => next()),
		operation,
	);

/** The query parameters of a list, for typed clients. */
type PageInput = {
	in: { query: { limit?: string; offset?: string; cursor?: string } };
	out: { query: object };
};

type Documenting<T, Status extends 200 | 201 | 202 | 204> = Response & Documented<T, Status>;

/** 200 with a body of the schema `response`. */
export const ok = <S extends z.ZodType>(response: S, more: Pick<Operation, "also"> = {}) =>
	document<Documenting<z.output<S>, 200>>({ status: 200, response, ...more });

/** 201 with a body of the schema `response`. */
export const created = <S extends z.ZodType>(response: S) =>
	document<Documenting<z.output<S>, 201>>({ status: 201, response });

/** 202 with a body of the schema `response`: the work continues after the response. */
export const accepted = <S extends z.ZodType>(response: S) =>
	document<Documenting<z.output<S>, 202>>({ status: 202, response });

/** 200 without a body (docs/api.md#responses-without-a-body). */
export const noBody = () => document<Documenting<null, 200>>({ status: 200 });

/** 204 without a body. */
export const noContent = () => document<Documenting<null, 204>>({ status: 204 });

/** 303 to another page. */
export const redirects = (more: Pick<Operation, "form"> = {}) => document({ status: 303, ...more });

/** 200 with an HTML page. */
export const htmlPage = (more: Pick<Operation, "form"> = {}) =>
	document({ status: 200, media: "text/html", ...more });

/** 200 with a JavaScript file. */
export const javascript = () => document({ status: 200, media: "text/javascript" });

/** 200 with the metadata of a SAML service (saml-metadata, appendix A). */
export const samlMetadata = () => document({ status: 200, media: "text/xml" });

/** 200 with a JSON file of the schema `response`, which the compiler can't check. */
export const jsonFile = (response: z.ZodType) =>
	document({ status: 200, response, isFile: true, also: { 304: z.void() } });

/** The parameters of lists, documented but not validated (docs/api.md#pages). */
export const paging = lazy(() =>
	z.object({
		limit: z.int().min(1).max(1000).meta({ default: 100 }).optional(),
		offset: z.int().min(0).meta({ default: 0 }).optional(),
		cursor: z.string().optional(),
	}),
);

/** The fields of a page (docs/api.md#pages). */
const envelopeOf = (item: z.ZodType) => ({
	count: z.int(),
	next: z.url().nullable(),
	previous: z.url().nullable(),
	results: z.array(item),
});

/** 200 with a page. Its schemas are created only for the OpenAPI document. */
const page = <R>(response: () => z.ZodType, more: Pick<Operation, "within" | "download"> = {}) =>
	document<Documenting<R, 200>, PageInput>({
		status: 200,
		get response() {
			return response();
		},
		get query() {
			return paging();
		},
		...more,
	});

/** 200 with a page of `item`. */
export const paginated = <I extends z.ZodType>(item: I, more: Pick<Operation, "download"> = {}) =>
	page<Envelope<z.output<I>>>(() => z.object(envelopeOf(item)), more);

/**
 * 200 with a page of `item` and the fields of `shape`, which are from the first result, or null if
 * there are no results (docs/api.md#responses-with-extra-fields).
 */
export const paginatedAs = <S extends z.ZodObject, I extends z.ZodType>(shape: S, item: I) =>
	page<Nullable<z.output<S>> & Envelope<z.output<I>>>(
		() => z.object({ ...nullable(shape).shape, ...envelopeOf(item) }),
		{ within: shape },
	);

/** 200 with `shape` and a page of `item` (docs/api.md#responses-with-extra-fields). */
export const paginatedWithin = <S extends z.ZodObject, I extends z.ZodType>(shape: S, item: I) =>
	page<z.output<S> & Envelope<z.output<I>>>(
		() => z.object({ ...shape.shape, ...envelopeOf(item) }),
		{ within: shape },
	);

/** The query parameter of a feed. It is only documented, like those of `paging`. */
const feedPaging = lazy(() => paging().pick({ limit: true }));

/** 200 with a page of a feed of `item`. */
export const feedOf = <I extends z.ZodType>(item: I) =>
	document<
		Documenting<FeedPage<z.output<I>>, 200>,
		{ in: { query: { limit?: string } }; out: { query: object } }
	>({
		status: 200,
		get response() {
			return z.object({
				results: z.array(item),
				next: z.url().nullable(),
				after: z.guid().nullable(),
			});
		},
		get query() {
			return feedPaging();
		},
		download: true,
	});

type Nullable<T> = { [K in keyof T]: T[K] | null };

/** Returns the schema with every field nullable. */
const nullable = (shape: z.ZodObject) =>
	z.object(
		Object.fromEntries(
			Object.entries(shape.shape).map(([name, field]) => [name, z.nullable(field)]),
		),
	);
