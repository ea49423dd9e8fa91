import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";

/** Replaces invite tokens and key values in a path, which must not be logged. */
const redact = (path: string) =>
	path.replace(/^((?:\/api)?\/invites\/)[^/]+/, "$1…").replace(/tnt_\w+/g, "tnt_…");

/**
 * If `LOG_REQUESTS` is `true`, logs one line for each request: `POST /api/projects 201 12 ms 2
 * trips`.
 */
export const logRequests = createMiddleware<App>(async (c, next) => {
	const start = Date.now();
	await next();
	if (c.env.LOG_REQUESTS !== "true") return;
	const { d1_trips: trips } = c.var.meter;
	const cost = `${Date.now() - start} ms ${trips} ${trips === 1 ? "trip" : "trips"}`;
	// The query string is left out: it may have personal data, such as search terms.
	console.log(`${c.req.method} ${redact(c.req.path)} ${c.res.status} ${cost}`);
});
