import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import type { App } from "../env.ts";
import { allowedOrigins } from "./origins.ts";

/** The response headers that scripts of other origins may read. */
const EXPOSED_HEADERS = [
	"Accept-Ranges",
	"Content-Digest",
	"Content-Disposition",
	"Content-Range",
	"Deprecation",
	"ETag",
	"Idempotency-Replayed",
	"Link",
	"Preference-Applied",
	"RateLimit",
	"RateLimit-Policy",
	"Repr-Digest",
	"Retry-After",
	"Server-Timing",
	"Sunset",
	"Tenantry-Version",
	"WWW-Authenticate",
	"x-d1-bookmark",
	"X-Request-Id",
];

/** Security headers. The routes that send pages add the headers that only pages need. */
export const secureResponses = secureHeaders({
	crossOriginOpenerPolicy: false,
	originAgentCluster: false,
	xDnsPrefetchControl: false,
	xDownloadOptions: false,
	xPermittedCrossDomainPolicies: false,
	xXssProtection: false,
	removePoweredBy: false,
});

/** The endpoints that apps in a browser need to sign people in (docs/oauth.md), without cookies. */
const FOR_APPS = /^\/(?:oauth|\.well-known)\//;

/**
 * Enables CORS for the origins in `CORS_ORIGINS`, if there are any, and for all origins at the
 * endpoints for apps.
 */
export const crossOrigin: MiddlewareHandler<App> = (c, next) => {
	const origins = FOR_APPS.test(c.req.path) ? ["*"] : allowedOrigins(c.env);
	if (origins.length === 0) return next();
	return cors({
		origin: origins.includes("*") ? "*" : origins,
		exposeHeaders: EXPOSED_HEADERS,
	})(c, next);
};
