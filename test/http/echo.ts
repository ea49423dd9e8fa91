import { Hono } from "hono";
import type * as z from "zod";
import type { App } from "../../src/env.ts";
import { onError } from "../../src/http/errors.ts";
import { body, query } from "../../src/http/valid.ts";

/* Apps that answer with what a route gets of a request, or with its rejection. */

const none = async () => undefined;

async function answerOf(app: Hono<App>, request: Request) {
	const response = await app.onError(onError(() => undefined)).fetch(request);
	const body: Record<string, unknown> = await response.json();
	return { status: response.status, headers: response.headers, body };
}

const URL = "https://tenantry.test/";

const JSON_TYPE = { "content-type": "application/json" };

type Options = { headers?: Record<string, string>; lines?: boolean };

/** Returns what a route whose body has this shape gets of one. */
export async function readRaw(
	shape: z.ZodType,
	raw: BodyInit | null,
	{ headers = JSON_TYPE, lines = false }: Options = {},
) {
	const app = new Hono<App>();
	app.post("/", body(shape, none, { lines }), (c) => c.json(c.req.valid("json")));
	return answerOf(
		app,
		new Request(URL, { method: "POST", headers, body: raw, ...{ duplex: "half" } }),
	);
}

/** Returns what a route whose body has this shape gets of a JSON value. */
export const read = (shape: z.ZodType, sent: unknown) => readRaw(shape, JSON.stringify(sent));

/** Returns what a route whose query has this shape gets of one. */
export async function readQuery(shape: z.ZodObject, search: string) {
	const app = new Hono<App>();
	app.get("/", query(shape, none), (c) => c.json(c.req.valid("query")));
	return answerOf(app, new Request(`${URL}?${search}`));
}
