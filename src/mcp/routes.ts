import { createMiddleware } from "hono/factory";
import { asCaller, controlled } from "../access/middleware.ts";
import { anyKey, READ_SCOPES } from "../access/scopes.ts";
import type { App } from "../env.ts";
import { forbidden } from "../http/errors.ts";
import { formatted } from "../http/json.ts";
import { allowOnly } from "../http/methods.ts";
import { allowedOrigins, isLoopback } from "../http/origins.ts";
import { router } from "../http/router.ts";
import { authenticateKey } from "../keys/authenticate.ts";
import type { Api } from "./server/gateway.ts";

/** JSON-RPC's code for errors that the server defines (https://www.jsonrpc.org/specification). */
const SERVER_ERROR = -32000;

/** Converts errors to JSON-RPC errors. `data` is the error of the API. */
const jsonRpcErrors = createMiddleware<App>(async (c, next) => {
	await next();
	c.header("Cache-Control", "no-store");
	if (!c.error) return;
	const data: { detail: string } = await c.res.json();
	const error = { code: SERVER_ERROR, message: data.detail, data };
	const body = JSON.stringify({ jsonrpc: "2.0", id: null, error });
	c.res = new Response(formatted(c, body), c.res);
});

/** Returns the own origins: `APP_URL`'s and, on a local server, the request's. */
const ownOrigins = ({ APP_URL }: Env, url: URL) => [
	URL.parse(APP_URL)?.origin,
	isLoopback(url) ? url.origin : undefined,
];

/** Whether a request to a local server names another host, which was made to lead here. */
const isRebound = ({ APP_URL }: Env, url: URL) => {
	const own = URL.parse(APP_URL);
	return own !== null && isLoopback(own) && !isLoopback(url);
};

/**
 * Rejects requests of pages from other origins. The protocol requires this against DNS rebinding: a
 * name of someone else that leads here would be in both `Origin` and `Host`, so the two aren't
 * compared. Programs other than browsers send no `Origin`. On a local server, such a name is
 * rejected even without `Origin`, and if `CORS_ORIGINS` allows all.
 */
const checkOrigin = createMiddleware<App>(async (c, next) => {
	const url = new URL(c.req.url);
	if (isRebound(c.env, url)) throw forbidden("Requests to this host are not allowed.");
	const origin = c.req.header("origin");
	const allowed = [...ownOrigins(c.env, url), ...allowedOrigins(c.env)];
	if (origin !== undefined && !allowed.includes("*") && !allowed.includes(origin))
		throw forbidden("Requests from this origin are not allowed.");
	await next();
});

/** Has a 401 name the scopes to begin with. A message that needs more is a 403 that names it. */
const nameScopes = createMiddleware<App>(async (c, next) => {
	c.set("needed_scopes", READ_SCOPES.join(" "));
	await next();
});

/** Serves `/mcp` (docs/mcp.md). It is stateless, so there is no stream to GET. */
export const mcp = (api: Api) =>
	router()
		.use(jsonRpcErrors, checkOrigin, nameScopes, authenticateKey, anyKey)
		.use(controlled({ because: "The operations that tools call check access." }), asCaller)
		.all("/", allowOnly(["POST"]), async (c) => {
			const { serve } = await import("./server.ts");
			const response = await serve(c, api);
			return c.newResponse(response.body, response);
		});
