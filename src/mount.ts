import type { Hono, MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { methodNotAllowed as checkMethod } from "hono/method-not-allowed";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import type { Schema } from "hono/types";
import { safeRetries } from "./access/idempotency.ts";
import { conditional } from "./access/precondition.ts";
import { type ScopeObject, scope } from "./access/scopes.ts";
import { authenticate } from "./auth/authenticate.ts";
import { fromDatabaseError } from "./db/errors.ts";
import { consolePages } from "./docs/console.ts";
import { documentation } from "./docs/docs.ts";
import { onlyReads } from "./docs/files.ts";
import type { App } from "./env.ts";
import { methodNotAllowed, onError, onNotFound, respond } from "./http/errors.ts";
import { caching } from "./http/etag.ts";
import { formatJson } from "./http/json.ts";
import { meter } from "./http/meter.ts";
import { allowedOrigins } from "./http/origins.ts";
import { logRequests } from "./http/request_log.ts";
import { router } from "./http/router.ts";
import { answerInVersion, chooseVersion } from "./http/versions.ts";
import type { Api } from "./mcp/gateway.ts";
import { mcp } from "./mcp/routes.ts";

export type Routes = Hono<App, Schema, string>;

/** Loads the routes of a row on the first request for its path (docs/internals/architecture.md#what-is-loaded-when). */
type Load = () => Promise<Routes>;

/** A family's path, the object of its scopes, the tenant that it acts in, and its routes. */
export type Family = readonly [
	path: string,
	object: ScopeObject,
	tenant: MiddlewareHandler<App>,
	load: Load,
];

/** The path of routes without a key, and the routes. */
export type PublicRoutes = readonly [path: string, load: Load];

export type Row = Family | PublicRoutes;

/** The response headers that scripts of other origins may read. */
const EXPOSED_HEADERS = [
	"Content-Disposition",
	"Deprecation",
	"ETag",
	"Idempotency-Replayed",
	"Link",
	"RateLimit",
	"RateLimit-Policy",
	"Retry-After",
	"Server-Timing",
	"Sunset",
	"Tenantry-Version",
	"x-d1-bookmark",
	"X-Request-Id",
];

/** Security headers. The routes that send pages add the headers that only pages need. */
const secureAnswers = secureHeaders({
	crossOriginOpenerPolicy: false,
	originAgentCluster: false,
	xDnsPrefetchControl: false,
	xDownloadOptions: false,
	xPermittedCrossDomainPolicies: false,
	xXssProtection: false,
	removePoweredBy: false,
});

/** Enables CORS for the origins in `CORS_ORIGINS`, if there are any. */
const crossOrigin: MiddlewareHandler<App> = (c, next) => {
	const origins = allowedOrigins(c.env);
	if (origins.length === 0) return next();
	return cors({
		origin: origins.includes("*") ? "*" : origins,
		exposeHeaders: EXPOSED_HEADERS,
	})(c, next);
};

/** Returns 405 for methods that a path such as `/bulk` doesn't support. Otherwise, `/:id` would match with the id `bulk`. */
const allowOnlyMethodsOf = (handlers: { method: string }[]): MiddlewareHandler<App> => {
	const methods = new Set(handlers.map(({ method }) => method));
	const allowed = [...methods].flatMap((method) =>
		method === "GET" ? [method, "HEAD"] : [method],
	);
	return async (c, next) => {
		if (!allowed.includes(c.req.method)) throw methodNotAllowed(c.req.method, allowed);
		await next();
	};
};

/** Returns the paths of `routes` with their handlers. Middleware is mounted on each path. */
const pathsOf = (routes: Routes) => Map.groupBy(routes.routes, ({ path }) => path);

/** Returns the routes of a family, which require a key with a scope. */
async function familyOf([path, object, tenant, load]: Family) {
	const [family, routes] = [router(), await load()];
	for (const [at, handlers] of pathsOf(routes)) {
		if (!/[:*]/.test(at)) family.use(at, allowOnlyMethodsOf(handlers));
		family.use(at, scope(object), safeRetries, conditional(path, routes.routes, at), tenant);
	}
	return family.route("/", routes);
}

async function publicRoutesOf([path, load]: PublicRoutes) {
	const [group, routes] = [router(), await load()];
	for (const [at, handlers] of pathsOf(routes))
		if (!at.includes("*")) {
			group.use(at, allowOnlyMethodsOf(handlers));
			if (path.startsWith("/api/")) group.use(at, chooseVersion());
		}
	return group.route("/", routes);
}

const isFamily = (row: Row): row is Family => row.length === 4;

/**
 * Returns an app with the middleware of all requests and the routes of one row.
 * @param api the function that `/mcp` calls
 */
export async function mount(row: Row, api: Api): Promise<Routes> {
	const routes = isFamily(row) ? await familyOf(row) : await publicRoutesOf(row);
	const app: Routes = router();
	app
		.use(requestId(), logRequests, meter)
		.use("/api/*", caching)
		.use(formatJson, answerInVersion(), secureAnswers, crossOrigin)
		.use(
			checkMethod({
				app,
				onMethodNotAllowed: (c, allowed) => respond(c, methodNotAllowed(c.req.method, allowed)),
			}),
		);
	app.use("/docs/*", onlyReads, documentation);
	app.use("/console/*", onlyReads, consolePages);
	if (!isFamily(row)) app.route(row[0], routes);
	app.use("/api/*", authenticate, chooseVersion());
	if (isFamily(row)) app.route(row[0], routes);
	app.route("/mcp", mcp(api));
	return app.notFound(onNotFound).onError(onError(fromDatabaseError));
}
