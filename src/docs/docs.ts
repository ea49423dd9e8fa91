import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { App } from "../env.ts";
import { sendFile } from "./files.ts";

/** The pages load only their style sheet, their scripts and images. */
const PAGES = {
	defaultSrc: ["'none'"],
	scriptSrc: ["'self'"],
	styleSrc: ["'self'"],
	imgSrc: ["'self'"],
	baseUri: ["'none'"],
	formAction: ["'none'"],
	frameAncestors: ["'none'"],
};

/** The API reference sends requests to this host. */
const REFERENCE = { ...PAGES, connectSrc: ["'self'"] };

const securePage = secureHeaders({ contentSecurityPolicy: PAGES });
const secureReference = secureHeaders({ contentSecurityPolicy: REFERENCE });

/** Files with a hash of their content in their names. */
const HASHED = /^\/docs\/assets\/.*\.[0-9a-f]{16}[./]/;

/** Removes trailing slashes. Only the first page keeps one, because it is the index of a folder. */
const fileFor = (path: string) => path.replace(/(?<!\/)\/+$/, "").replace(/^\/docs$/, "/docs/");

/**
 * Serves the documentation under /docs: files that scripts/assets.ts builds
 * (docs/internals/architecture.md#the-documentation-pages). They have ETags. Unknown paths return
 * the page 404.html.
 */
export const documentation: MiddlewareHandler<App> = async (c) => {
	const path = fileFor(c.req.path);
	const secure = /^\/docs\/reference(?:\/|$)/.test(path) ? secureReference : securePage;
	await secure(c, () => sendFile(c, path, HASHED));
};
