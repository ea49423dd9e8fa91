import { type Handler, Hono } from "hono";
import { createMiddleware } from "hono/factory";
import type { BlankInput, Input } from "hono/types";
import * as z from "zod";
import type { App } from "../env.ts";

/** A router that accepts every path with and without a trailing slash, for every method. */
export const router = () => new Hono<App>({ strict: false });

/** A route's metadata, from which scripts/openapi.ts builds the OpenAPI document. */
export type Operation = {
	summary?: string;
	status?: 200 | 201 | 204;
	answer?: z.ZodType;
	/** Other responses that aren't errors, by status. `z.void()`: no body. */
	also?: Record<number, z.ZodType>;
	/** The route calls an external service; if that fails, the response is a 400. */
	asksElsewhere?: true;
	/** The media type of a response that is text, not JSON. */
	media?: "text/html" | "text/javascript";
	body?: z.ZodType;
	/** The body may also be JSON lines. */
	lines?: boolean;
	/** The body is an HTML form of these fields, not JSON. */
	form?: z.ZodType;
	query?: z.ZodObject;
};

const documentation = new WeakMap<z.core.$ZodType, z.ZodType | (() => z.ZodType)>();

/**
 * Returns `shape`; the OpenAPI document shows `as` instead. For checks that JSON Schema can't be
 * derived from. A function is called only for the document, so large shapes cost the worker nothing.
 */
export function documentAs<T extends z.ZodType>(shape: T, as: z.ZodType | (() => z.ZodType)) {
	documentation.set(shape, as);
	return shape;
}

/** The shape to document in place of `shape`, if there is one. */
export function documentedAs(shape: z.core.$ZodType) {
	const as = documentation.get(shape);
	if (typeof as !== "function") return as;
	const built = as();
	documentation.set(shape, built);
	return built;
}

const operations = new WeakMap<object, Operation>();

/** Attaches metadata to a middleware, for the routes that it is part of. */
export function describeRoute<T extends object>(middleware: T, operation: Operation) {
	operations.set(middleware, operation);
	return middleware;
}

/** The metadata that `describeRoute` attached to a middleware; empty if there is none. */
export const descriptionOf = (handler: Handler): Operation => operations.get(handler) ?? {};

const document = <I extends Input = BlankInput>(operation: Operation) =>
	describeRoute(
		createMiddleware<App, string, I>((_, next) => next()),
		operation,
	);

/** The query parameters of a list, for typed clients. */
type PageInput = {
	in: { query: { limit?: string; offset?: string; cursor?: string } };
	out: { query: object };
};

/** 200 with a body of the shape `answer`. */
export const ok = (
	answer: z.ZodType,
	summary: string,
	more: Pick<Operation, "also" | "asksElsewhere"> = {},
) => document({ status: 200, answer, summary, ...more });

/** 201 with a body of the shape `answer`. */
export const created = (answer: z.ZodType, summary: string) =>
	document({ status: 201, answer, summary });

/** 200 without a body (docs/api.md#responses-without-a-body). */
export const noBody = (summary: string) => document({ status: 200, summary });

/** 204 without a body. */
export const noContent = (summary: string) => document({ status: 204, summary });

/** 200 with an HTML page. */
export const htmlPage = (summary: string, more: Pick<Operation, "form"> = {}) =>
	document({ status: 200, media: "text/html", summary, ...more });

/** 200 with a JavaScript file. */
export const javascript = (summary: string) =>
	document({ status: 200, media: "text/javascript", summary });

/**
 * The query parameters of every list (docs/api.md#pages). Only documented here: invalid values get
 * the default.
 */
export const Paging = z.object({
	limit: z
		.int()
		.min(1)
		.max(1000)
		.meta({ default: 100, description: "Results per page" })
		.optional(),
	offset: z.int().min(0).meta({ default: 0, description: "Index of the first result" }).optional(),
	cursor: z.string().meta({ description: "Opaque; part of `next`" }).optional(),
});

/** The fields of a page (docs/api.md#pages). */
const envelopeOf = (item: z.ZodType) => ({
	count: z.int(),
	next: z.url().nullable(),
	previous: z.url().nullable(),
	results: z.array(item),
});

/** 200 with a page of `item`. */
export const paginated = (item: z.ZodType, summary: string) =>
	document<PageInput>({
		status: 200,
		get answer() {
			return z.object(envelopeOf(item));
		},
		query: Paging,
		summary,
	});

/**
 * 200 with a page of `item` that also has the fields of `shape`, from the first result; all are
 * null without results (docs/api.md#responses-with-extra-fields).
 */
export const paginatedAs = (
	shape: z.ZodObject,
	item: z.ZodType,
	summary: string,
	more: Pick<Operation, "asksElsewhere"> = {},
) =>
	document<PageInput>({
		status: 200,
		get answer() {
			return z.object({ ...nullable(shape).shape, ...envelopeOf(item) });
		},
		query: Paging,
		summary,
		...more,
	});

/**
 * 200 with the fields of `shape` and a page of `item` (docs/api.md#responses-with-extra-fields).
 */
export const paginatedWithin = (shape: z.ZodObject, item: z.ZodType, summary: string) =>
	document<PageInput>({
		status: 200,
		get answer() {
			return z.object({ ...shape.shape, ...envelopeOf(item) });
		},
		query: Paging,
		summary,
	});

/** The shape with every field nullable. */
const nullable = (shape: z.ZodObject) =>
	z.object(
		Object.fromEntries(
			Object.entries(shape.shape).map(([name, field]) => [name, z.nullable(field)]),
		),
	);
