import { type Context, type Handler, Hono, type TypedResponse } from "hono";
import { createMiddleware } from "hono/factory";
import type { BlankInput, HandlerResponse, Input } from "hono/types";
import type { JSONParsed } from "hono/utils/types";
import * as z from "zod";
import type { App } from "../env.ts";
import { lazy } from "../lib/lazy.ts";
import { type Envelope, type FeedPage, paging } from "./page.ts";

/** A group of operations in the OpenAPI document: what a router serves. */
export type Section = {
	name: string;
	description: string;
	/** The parameters in its paths, each with its description; those of its mount path are known. */
	parameters?: Record<string, z.ZodType>;
};

const sections = new WeakMap<object, Section>();

/** Returns what `router` was told about its routes. */
export const sectionOf = (routes: object) => sections.get(routes);

/**
 * Returns a router that matches every path with and without a trailing slash.
 * @param section its description; missing if the routes aren't part of the OpenAPI document
 */
export function router(section?: Section) {
	const routes = new Hono<App>({ strict: false });
	if (section) sections.set(routes, section);
	return routes;
}

/** The text about an operation. */
export type Text = {
	/** The operation's name, unique in the document: `verb` and object in camel case. */
	id: string;
	/** A few words in the imperative. */
	summary: string;
	/** Who may do it, its side effects, and the answer, unless the names say it. */
	description: string;
	/**
	 * Codes of a 400 that the shapes of the request don't imply, each with when it happens. A code
	 * that they do imply is listed too, if the operation has a rule of its own with it.
	 */
	errors?: Record<string, string>;
	/**
	 * The scope that is required instead of the one that follows from the method: less for an operation
	 * that only runs an object, more for a read of what only a change could give away otherwise.
	 */
	scope?: "batch_export:run" | "batch_export:write";
};

/** A route's metadata, from which the OpenAPI document is generated. */
export type Operation = Partial<Text> & {
	status?: 200 | 201 | 202 | 204 | 303;
	response?: z.ZodType;
	/** The response is a page, or a page of a feed, of this. */
	page?: z.ZodType;
	feed?: z.ZodType;
	/** Fields of the page in addition to its own. */
	within?: z.ZodObject;
	/** The fields of `within` are null if the page has no results. */
	nullable?: true;
	/** The response is a static file. */
	isFile?: true;
	/** The response is a file of one of these media types, of which a client can ask for a part. */
	file?: readonly string[];
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
	/** Throws the errors that come before those of the body and query, such as 403 and 404. */
	first?: First;
};

/** Runs before a 400, to throw the errors that take precedence. */
export type First = (c: Context<App>) => Promise<unknown>;

/** Returns the query parameters of an operation: those of a page, then its own. */
export function queryOf({ query, page, feed }: Operation): z.ZodObject | undefined {
	const { shape } = paging();
	if (page) return z.object({ ...shape, ...query?.shape });
	return feed ? z.object({ limit: shape.limit, ...query?.shape }) : query;
}

const ignored = new WeakMap<z.core.$ZodType, readonly string[]>();

/**
 * Returns the shape of a body whose fields are all validated, but of which the operation applies
 * only `applied`. The others are read-only in the OpenAPI document, and rejected in strict requests.
 */
export function applyOnly<S extends z.ZodObject>(shape: S, applied: readonly string[]): S {
	const marked = shape.clone();
	ignored.set(
		marked,
		Object.keys(shape.shape).filter((name) => !applied.includes(name)),
	);
	return marked;
}

/** Returns the names of the fields of a body that are validated, but not applied. */
export const notApplied = (shape: z.core.$ZodType): readonly string[] => ignored.get(shape) ?? [];

const documentation = new WeakMap<z.core.$ZodType, () => z.ZodType>();

/**
 * Returns `shape`, which the OpenAPI document shows as `as`. A function is only called for the
 * document, so that the worker doesn't create the schema.
 */
export function documentAs<T extends z.ZodType>(shape: T, as: z.ZodType | (() => z.ZodType)) {
	documentation.set(shape, typeof as === "function" ? lazy(as) : () => as);
	return shape;
}

/** Returns the schema that documents `shape`, or what it was cloned from, if there is one. */
export const documentedAs = (shape: z.core.$ZodType): z.ZodType | undefined =>
	documentation.get(shape)?.() ?? (shape._zod.parent && documentedAs(shape._zod.parent));

const operations = new WeakMap<object, Operation>();

/** Attaches metadata to a middleware, for the routes that use it. */
export function describeRoute<T extends object>(middleware: T, operation: Operation) {
	operations.set(middleware, operation);
	return middleware;
}

/** Returns the metadata that `describeRoute` attached to a middleware, or an empty object. */
export const descriptionOf = (handler: Handler): Operation => operations.get(handler) ?? {};

/** Returns what the middleware of a route says about it. */
export const operationOf = (handlers: readonly { handler: Handler }[]): Operation =>
	Object.assign({}, ...handlers.map(({ handler }) => descriptionOf(handler)));

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

/**
 * The type of a documented response, which the route's middleware adds to the responses in Hono's
 * schema. Its format distinguishes it from the response of the handler
 * (build/openapi/response_types.ts compares them).
 */
export type Documenting<T, Status extends 200 | 201 | 202 | 204> = Response &
	TypedResponse<JSONParsed<T>, Status, "documented">;

/** 200 with a body of the schema `response`. */
export const ok = <S extends z.ZodType>(response: S, text: Text & Pick<Operation, "also">) =>
	document<Documenting<z.output<S>, 200>>({ status: 200, response, ...text });

/** 201 with a body of the schema `response`. */
export const created = <S extends z.ZodType>(response: S, text: Text) =>
	document<Documenting<z.output<S>, 201>>({ status: 201, response, ...text });

/** 202 with a body of the schema `response`: the work continues after the response. */
export const accepted = <S extends z.ZodType>(response: S, text: Text) =>
	document<Documenting<z.output<S>, 202>>({ status: 202, response, ...text });

/** 200 without a body (docs/api.md#responses-without-a-body). */
export const noBody = (text: Text) => document<Documenting<null, 200>>({ status: 200, ...text });

/** 204 without a body. */
export const noContent = (text: Text) => document<Documenting<null, 204>>({ status: 204, ...text });

/** 303 to another page. */
export const redirects = (text: Text & Pick<Operation, "form">) =>
	document({ status: 303, ...text });

/** 200 with an HTML page. */
export const htmlPage = (text: Text & Pick<Operation, "form">) =>
	document({ status: 200, media: "text/html", ...text });

/** 200 with a JavaScript file. */
export const javascript = (text: Text) =>
	document({ status: 200, media: "text/javascript", ...text });

/** 200 with the metadata of a SAML service (saml-metadata, appendix A). */
export const samlMetadata = (text: Text) => document({ status: 200, media: "text/xml", ...text });

/** 200 with a JSON file of the schema `response`, which the compiler can't check. */
export const jsonFile = (response: z.ZodType, text: Text) =>
	document({ status: 200, response, isFile: true, also: { 304: z.void() }, ...text });

/** 200 or 206 with a file or a part of it (src/http/file.ts). `file`: its possible media types. */
export const fileOf = (file: readonly string[], text: Text) =>
	document({ status: 200, file, ...text });

/** 200 with a page. */
const page = <R>(operation: Operation) =>
	document<Documenting<R, 200>, PageInput>({ status: 200, ...operation });

/** 200 with a page of `item`. */
export const paginated = <I extends z.ZodType>(item: I, text: Text & Pick<Operation, "download">) =>
	page<Envelope<z.output<I>>>({ page: item, ...text });

/**
 * 200 with a page of `item` and the fields of `shape`, which are from the first result, or null if
 * there are no results (docs/api.md#responses-with-extra-fields).
 */
export const paginatedAs = <S extends z.ZodObject, I extends z.ZodType>(
	shape: S,
	item: I,
	text: Text,
) =>
	page<Nullable<z.output<S>> & Envelope<z.output<I>>>({
		page: item,
		within: shape,
		nullable: true,
		...text,
	});

/** 200 with `shape` and a page of `item` (docs/api.md#responses-with-extra-fields). */
export const paginatedWithin = <S extends z.ZodObject, I extends z.ZodType>(
	shape: S,
	item: I,
	text: Text,
) => page<z.output<S> & Envelope<z.output<I>>>({ page: item, within: shape, ...text });

/** 200 with a page of a feed of `item`. */
export const feedOf = <I extends z.ZodType>(item: I, text: Text) =>
	document<
		Documenting<FeedPage<z.output<I>>, 200>,
		{ in: { query: { limit?: string } }; out: { query: object } }
	>({ status: 200, feed: item, download: true, ...text });

type Nullable<T> = { [K in keyof T]: T[K] | null };
