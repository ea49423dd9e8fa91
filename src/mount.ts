import { Hono, type MiddlewareHandler, type NotFoundHandler } from "hono";
import { createMiddleware } from "hono/factory";
import { requestId } from "hono/request-id";
import { TrieRouter } from "hono/router/trie-router";
import type { Schema } from "hono/types";
import { safeRetries } from "./access/idempotency.ts";
import { type Controlled, controlled, endPreview } from "./access/middleware.ts";
import { conditional } from "./access/precondition.ts";
import { type ScopeObject, scope } from "./access/scopes.ts";
import { fromDatabaseError } from "./db/errors.ts";
import { consolePages, documentation } from "./docs/pages.ts";
import type { App } from "./env.ts";
import { onError, onNotFound } from "./http/errors.ts";
import { caching } from "./http/etag.ts";
import { crossOrigin, secureResponses } from "./http/headers.ts";
import { formatJson } from "./http/json.ts";
import { logRequests, meter } from "./http/meter.ts";
import { allowOnly, isRead } from "./http/methods.ts";
import { readHandling } from "./http/prefer.ts";
import { type First, type Operation, operationOf } from "./http/router.ts";
import { chooseVersion, respondInVersion } from "./http/versions.ts";
import { authenticate } from "./keys/authenticate.ts";
import { mcp } from "./mcp/routes.ts";
import type { Api } from "./mcp/server/gateway.ts";
import { asScimErrors } from "./people/scim/errors.ts";

export type Routes = Hono<App, Schema, string>;

/**
 * A family: its path, scope object, what access controls are about in it, its tenant, and its
 * routes, which its first request loads.
 */
export type Family = {
	path: string;
	object: ScopeObject;
	access: Controlled;
	tenant: MiddlewareHandler<App>;
	load: () => Promise<Routes | { default: Routes }>;
};

/** Routes that need no key. */
export type PublicRoutes = Pick<Family, "path" | "load">;

export type Row = Family | PublicRoutes;

/** Loads the routes of a row. */
export async function loadRoutes({ load }: PublicRoutes): Promise<Routes> {
	const loaded = await load();
	return "default" in loaded ? loaded.default : loaded;
}

/** Responds to unknown paths. Under `/api`, this requires a key, too. */
const notFound: NotFoundHandler<App> = async (c) => {
	if (c.req.path.startsWith("/api/")) await authenticate(c, async () => {});
	return onNotFound(c);
};

/**
 * Returns the app with the middleware of all requests, to which `mount` adds rows. (Hono's default
 * router accepts no more routes after the first request.)
 * @param api the function that `/mcp` calls
 */
export const createApp = (api: Api): Routes =>
	new Hono<App>({ strict: false, router: new TrieRouter() })
		.use(requestId(), logRequests, meter)
		.use("/api/*", caching)
		.use(formatJson, respondInVersion(), secureResponses, crossOrigin)
		.use("/scim/*", asScimErrors)
		.use("/docs/*", allowOnly(["GET"]), documentation)
		.use("/console/*", allowOnly(["GET"]), consolePages)
		.route("/mcp", mcp(api))
		.notFound(notFound)
		.onError(onError(fromDatabaseError));

/** Checks access, unless the route needs no key. */
const guard: First = async (c) => c.get("tenant")?.read();

/** Rejects what a strict request has and `body` and `query` don't see. */
const strictly = (operation: Operation) =>
	createMiddleware<App>(async (c, next) => {
		if (c.get("strict")) await (await import("./http/valid.ts")).checkRest(c, operation, guard);
		await next();
	});

const countParameters = (path: string) => path.split("/:").length;

/** Adds the routes of a row to the app, each path with the middleware that it requires. */
export function mount(app: Routes, row: Row, { routes }: Routes) {
	const base = app.basePath(row.path);
	const { shared = [], own = [] } = Object.groupBy(routes, ({ path }) =>
		path.endsWith("*") ? "shared" : "own",
	);
	const paths = [...Map.groupBy(own, ({ path }) => path)];
	// Otherwise, `/:id` would match `/bulk` with the id `bulk`.
	paths.sort(([a], [b]) => countParameters(a) - countParameters(b));
	for (const [path, handlers] of paths) {
		const allowed = allowOnly([...new Set(handlers.map(({ method }) => method))]);
		if ("tenant" in row) {
			base.use(
				path,
				scope(row.object, operationOf(handlers).scope),
				controlled(row.access),
				authenticate,
				chooseVersion(),
				allowed,
				safeRetries,
			);
			base.use(path, conditional(row.path, routes, path), row.tenant);
		} else base.use(path, allowed, ...(row.path.startsWith("/api/") ? [chooseVersion()] : []));
		for (const { handler } of shared) base.use(path, handler);
		for (const [method, chain] of Map.groupBy(handlers, ({ method }) => method)) {
			const operation = operationOf(chain);
			const isStrict = row.path.startsWith("/api/");
			if (isStrict) base.on(method, path, readHandling(operation));
			for (const [i, { handler }] of chain.entries()) {
				if (i === chain.length - 1) {
					if (isStrict) base.on(method, path, strictly(operation));
					if (!isRead(method)) base.on(method, path, endPreview);
				}
				base.on(method, path, handler);
			}
		}
	}
}
