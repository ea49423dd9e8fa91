import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";
import { pluralize } from "../lib/plural.ts";
import { isPreview } from "./preview.ts";

/** Replaces invite tokens and API keys in a path, which must not be logged. */
const redact = (path: string) =>
	path.replace(/^((?:\/api)?\/invites\/)[^/]+/, "$1…").replace(/tnt_\w+/g, "tnt_…");

/** Logs requests if `LOG_REQUESTS` is `true`: `POST /api/projects 201 12 ms 2 trips`. */
export const logRequests = createMiddleware<App>(async (c, next) => {
	const start = Date.now();
	await next();
	if (c.env.LOG_REQUESTS !== "true") return;
	const { d1_trips: trips } = c.var.meter;
	const cost = `${Date.now() - start} ms ${pluralize(trips, "trip")}`;
	// The query string isn't logged: it may contain personal data, such as search terms.
	const preview = isPreview(c) ? ", a preview" : "";
	console.log(`${c.req.method} ${redact(c.req.path)} ${c.res.status} ${cost}${preview}`);
});
