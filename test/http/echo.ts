import { Hono } from "hono";
import type * as z from "zod";
import type { App } from "../../src/env.ts";
import { onError } from "../../src/http/errors.ts";
import { body, query } from "../../src/http/valid.ts";

const none = async () => undefined;

async function answerOf(response: Response) {
	const body: Record<string, unknown> = await response.json();
	return { status: response.status, body };
}

/** Returns what a route gets of a request whose body has this shape, or its rejection. */
export async function read(shape: z.ZodType, sent: unknown, raw = JSON.stringify(sent)) {
	const app = new Hono<App>()
		.post("/", body(shape, none), (c) => c.json(c.req.valid("json")))
		.onError(onError(() => undefined));
	const headers = { "content-type": "application/json" };
	const response = await app.request("/", { method: "POST", headers, body: raw });
	return answerOf(response);
}

/** Returns what a route gets of a query of this shape, or its rejection. */
export async function readQuery(shape: z.ZodObject, search: string) {
	const app = new Hono<App>()
		.get("/", query(shape, none), (c) => c.json(c.req.valid("query")))
		.onError(onError(() => undefined));
	const response = await app.request(`/?${search}`);
	return answerOf(response);
}
