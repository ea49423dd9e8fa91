import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";
import { pluralize } from "../lib/text.ts";
import { isPreview } from "./preview.ts";

/** The cost of a request so far. */
type Meter = {
	d1_trips: number;
	d1_rows_read: number;
	d1_rows_written: number;
	kv_reads: number;
};

declare module "hono" {
	interface ContextVariableMap {
		meter: Meter;
		/** Returns D1's bookmark after the latest query; undefined before the first session. */
		bookmark: (() => string | null) | undefined;
	}
}

/**
 * Reports the cost of a request in `Server-Timing`, and D1's bookmark in `x-d1-bookmark`. Errors
 * report only the number of round trips, since row counts could reveal what exists
 * (docs/api.md#responses).
 */
export const meter = createMiddleware<App>(async (c, next) => {
	const spent: Meter = {
		d1_trips: 0,
		d1_rows_read: 0,
		d1_rows_written: 0,
		kv_reads: 0,
	};
	c.set("meter", spent);
	await next();
	const reported = c.res.status < 400 ? spent : { d1_trips: spent.d1_trips };
	const timing = Object.entries(reported).map(([name, n]) => `${name};desc="${n}"`);
	c.res.headers.set("Server-Timing", timing.join(", "));
	const bookmark = c.get("bookmark")?.();
	if (bookmark) c.res.headers.set("x-d1-bookmark", bookmark);
});

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
