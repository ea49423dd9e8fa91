import type { Context, MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { App } from "../env.ts";

/** Pages load only their own scripts, styles and images. */
const CSP = {
	defaultSrc: ["'none'"],
	scriptSrc: ["'self'"],
	styleSrc: ["'self'"],
	imgSrc: ["'self'"],
	baseUri: ["'none'"],
	formAction: ["'none'"],
	frameAncestors: ["'none'"],
};

const securePage = secureHeaders({ contentSecurityPolicy: CSP });

/** The API reference sends requests to this host. */
const secureReference = secureHeaders({
	contentSecurityPolicy: { ...CSP, connectSrc: ["'self'"] },
});

/** So does the console, whose style sheet contains icons. */
const secureConsole = secureHeaders({
	contentSecurityPolicy: { ...CSP, connectSrc: ["'self'"], imgSrc: ["'self'", "data:"] },
});

/** Files with a hash of their content in their names, which can be cached for a year. */
const HASHED = [/^\/docs\/assets\/.*\.[0-9a-f]{16}[./]/, /\.[0-9A-Z]{8}\.(?:js|css)$/];

/** Sends a file of `public/`. Files have ETags. */
async function sendFile(c: Context<App>, path: string) {
	const file = await c.env.ASSETS.fetch(new Request(new URL(path, c.req.url), c.req.raw));
	c.res = c.newResponse(file.body, file);
	if (HASHED.some((hashed) => hashed.test(path)) && file.status < 400)
		c.header("Cache-Control", "public, max-age=31536000, immutable");
}

/** Removes trailing slashes. Only the first page keeps one: it is the index of a folder. */
const fileFor = (path: string) => path.replace(/(?<!\/)\/+$/, "").replace(/^\/docs$/, "/docs/");

/** Serves the pages under /docs. Unknown paths return 404.html. */
export const documentation: MiddlewareHandler<App> = async (c) => {
	const path = fileFor(c.req.path);
	const secure = /^\/docs\/reference(?:\/|$)/.test(path) ? secureReference : securePage;
	await secure(c, () => sendFile(c, path));
};

/**
 * Serves the console under /console: its files and, for all other paths, the same page
 * (docs/internals/architecture.md#the-console).
 */
export const consolePages: MiddlewareHandler<App> = (c) => {
	const isAsset = c.req.path.startsWith("/console/assets/");
	return secureConsole(c, () => sendFile(c, isAsset ? c.req.path : "/console/"));
};
