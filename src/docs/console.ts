import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { App } from "../env.ts";
import { sendFile } from "./files.ts";

/** The console loads only its own scripts and styles, and connects only to this host. */
const secure = secureHeaders({
	contentSecurityPolicy: {
		defaultSrc: ["'none'"],
		scriptSrc: ["'self'"],
		styleSrc: ["'self'"],
		imgSrc: ["'self'", "data:"],
		connectSrc: ["'self'"],
		baseUri: ["'none'"],
		formAction: ["'none'"],
		frameAncestors: ["'none'"],
	},
});

const ASSETS = "/console/assets/";
const HASHED = /\.[0-9A-Z]{8}\.(?:js|css)$/;

/**
 * Serves the console under /console: the same page for all paths, which then shows the page of the
 * path (docs/internals/architecture.md#the-console), and the page's files.
 */
export const consolePages: MiddlewareHandler<App> = (c) => {
	const path = c.req.path.startsWith(ASSETS) ? c.req.path : "/console/";
	return secure(c, () => sendFile(c, path, HASHED));
};
