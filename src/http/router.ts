import { type Handler, Hono } from "hono";
import { createMiddleware } from "hono/factory";
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
	/** The answer is a page for people. */
	html?: boolean;
	body?: z.ZodType;
	query?: z.ZodObject;
};

const operations = new WeakMap<object, Operation>();

/** Notes on a middleware what the routes that it stands in take or answer. */
export function describe<T extends object>(
	middleware: T,
	operation: Operation,
) {
	operations.set(middleware, operation);
	return middleware;
}

/** What was noted on a route's middleware. */
export const described = (handler: Handler): Operation =>
	operations.get(handler) ?? {};

const says = (operation: Operation) =>
	describe(
		createMiddleware<App>((_, next) => next()),
		operation,
	);

/** 200 with one `answer`. */
export const answers = (
	answer: z.ZodType,
	summary: string,
	more: Pick<Operation, "also"> = {},
) => says({ status: 200, answer, summary, ...more });

/** 201 with one `answer`. */
export const creates = (answer: z.ZodType, summary: string) =>
	says({ status: 201, answer, summary });

/** 204 without a body. */
export const removes = (summary: string) => says({ status: 204, summary });

/** 200 with a page for people. */
export const shows = (summary: string) =>
	says({ status: 200, html: true, summary });

/** The query of every list (behaviour 1.5). Never refused: what can't be read is the default. */
const Paging = z.object({
	limit: z.int().min(1).max(1000).optional(),
	offset: z.int().min(0).optional(),
	cursor: z.string().optional(),
});

/** 200 with a page of `item` (interface 2.1). */
export const lists = (item: z.ZodType, summary: string) =>
	says({
		status: 200,
		answer: z.object({
			count: z.int(),
			next: z.url().nullable(),
			previous: z.url().nullable(),
			results: z.array(item),
		}),
		query: Paging,
		summary,
	});
