import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { App } from "../env.ts";
import { sendFile } from "./files.ts";

/** The console loads its own scripts and styles, has icons in its style sheet, and talks to this host alone. */
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
 * The console below /console: one page for all paths, which shows what the path says
 * (docs/architecture.md#the-console), and the files that it loads.
 */
export const consolePages: MiddlewareHandler<App> = (c) => {
	const path = c.req.path.startsWith(ASSETS) ? c.req.path : "/console/";
	return secure(c, () => sendFile(c, path, HASHED));
};
