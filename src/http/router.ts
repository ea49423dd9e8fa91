import { type Handler, Hono } from "hono";
import { createMiddleware } from "hono/factory";
import type { BlankInput, Input } from "hono/types";
import * as z from "zod";
import type { App } from "../env.ts";

/** Every path with and without its trailing slash, for every method. */
export const router = () => new Hono<App>({ strict: false });

/** What a route says of itself; scripts/openapi.ts reads it. */
export type Operation = {
	summary?: string;
	status?: 200 | 201 | 204;
	answer?: z.ZodType;
	/** Answers of other statuses that are no refusals. */
	also?: Record<number, z.ZodType>;
	/** It asks a service elsewhere, whose failure is a 400. */
	asksElsewhere?: true;
	/** The answer is a text of this type, no JSON. */
	media?: "text/html" | "text/javascript";
	body?: z.ZodType;
	/** The body may also be JSON lines. */
	lines?: boolean;
	/** The body is an HTML form of these fields, not JSON. */
	form?: z.ZodType;
	query?: z.ZodObject;
};

const documentation = new WeakMap<z.core.$ZodType, z.ZodType>();

/** Returns `shape`, which the OpenAPI document shows as `as`: for checks that JSON Schema can't be derived from. */
export function documentAs<T extends z.ZodType>(shape: T, as: z.ZodType) {
	documentation.set(shape, as);
	return shape;
}

/** The shape to document in place of `shape`, if there is one. */
export const documentedAs = (shape: z.core.$ZodType) => documentation.get(shape);

const operations = new WeakMap<object, Operation>();

/** Notes on a middleware what the routes that it stands in take or answer. */
export function describeRoute<T extends object>(middleware: T, operation: Operation) {
	operations.set(middleware, operation);
	return middleware;
}

/** What was noted on a route's middleware. */
export const descriptionOf = (handler: Handler): Operation => operations.get(handler) ?? {};

const document = <I extends Input = BlankInput>(operation: Operation) =>
	describeRoute(
		createMiddleware<App, string, I>((_, next) => next()),
		operation,
	);

/** What a list takes in its query, for typed clients. */
type PageInput = {
	in: { query: { limit?: string; offset?: string; cursor?: string } };
	out: { query: object };
};

/** 200 with one `answer`. */
export const ok = (
	answer: z.ZodType,
	summary: string,
	more: Pick<Operation, "also" | "asksElsewhere"> = {},
) => document({ status: 200, answer, summary, ...more });

/** 201 with one `answer`. */
export const created = (answer: z.ZodType, summary: string) =>
	document({ status: 201, answer, summary });

/** 200 without a body (docs/api.md#responses-without-a-body). */
export const noBody = (summary: string) => document({ status: 200, summary });

/** 204 without a body. */
export const noContent = (summary: string) => document({ status: 204, summary });

/** 200 with a page for people. */
export const htmlPage = (summary: string, more: Pick<Operation, "form"> = {}) =>
	document({ status: 200, media: "text/html", summary, ...more });

/** 200 with a script for browsers. */
export const javascript = (summary: string) =>
	document({ status: 200, media: "text/javascript", summary });

/** The query of every list (docs/api.md#pages). Never refused: what can't be read is the default. */
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

/** The envelope of a page (docs/api.md#pages). */
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
		answer: z.object(envelopeOf(item)),
		query: Paging,
		summary,
	});

/** 200 with a page of `item` that is a `shape`, too (docs/api.md#responses-with-extra-fields): that of its first entry, all null where there is none. */
export const paginatedAs = (
	shape: z.ZodObject,
	item: z.ZodType,
	summary: string,
	more: Pick<Operation, "asksElsewhere"> = {},
) =>
	document<PageInput>({
		status: 200,
		answer: z.object({
			...nullable(shape).shape,
			...envelopeOf(item),
		}),
		query: Paging,
		summary,
		...more,
	});

/** 200 with a `shape` that holds a page of `item`, too (docs/api.md#responses-with-extra-fields). */
export const paginatedWithin = (shape: z.ZodObject, item: z.ZodType, summary: string) =>
	document<PageInput>({
		status: 200,
		answer: z.object({ ...shape.shape, ...envelopeOf(item) }),
		query: Paging,
		summary,
	});

/** A shape each of whose fields may be null. */
const nullable = (shape: z.ZodObject) =>
	z.object(
		Object.fromEntries(
			Object.entries(shape.shape).map(([name, field]) => [name, z.nullable(field)]),
		),
	);
