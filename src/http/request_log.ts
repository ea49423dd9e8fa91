import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";

/** A path as it may be written down: tokens of invites and values of keys open doors. */
export const redact = (path: string) =>
	path.replace(/^((?:\/api)?\/invites\/)[^/]+/, "$1…").replace(/tnt_\w+/g, "tnt_…");

/** Logs one line for each request where `LOG_REQUESTS` asks for it: `POST /api/projects 201 12 ms 2 trips`. */
export const logRequests = createMiddleware<App>(async (c, next) => {
	const start = Date.now();
	await next();
	if (c.env.LOG_REQUESTS !== "true") return;
	const { d1_trips: trips } = c.var.meter;
	const cost = `${Date.now() - start} ms ${trips} ${trips === 1 ? "trip" : "trips"}`;
	// The query is left out: people search for what is nobody else's business.
	console.log(`${c.req.method} ${redact(c.req.path)} ${c.res.status} ${cost}`);
});
