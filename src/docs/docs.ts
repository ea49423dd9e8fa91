import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { App } from "../env.ts";
import { sendFile } from "./files.ts";

/** The pages load only their style sheet, a script that closes a menu, and pictures. */
const PAGES = {
	defaultSrc: ["'none'"],
	scriptSrc: ["'self'"],
	styleSrc: ["'self'"],
	imgSrc: ["'self'"],
	baseUri: ["'none'"],
	formAction: ["'none'"],
	frameAncestors: ["'none'"],
};

/** The API reference is a script that adds style elements, has pictures in data: URLs, and sends requests to this host. */
const REFERENCE = {
	...PAGES,
	styleSrc: ["'self'", "'unsafe-inline'"],
	imgSrc: ["'self'", "data:"],
	connectSrc: ["'self'"],
};

const securePage = secureHeaders({ contentSecurityPolicy: PAGES });
const secureReference = secureHeaders({ contentSecurityPolicy: REFERENCE });

/** Files whose names have a hash of their content. */
const HASHED = /^\/docs\/assets\/.*\.[0-9a-f]{16}[./]/;

/** The path without slashes at its end, but with one for the first page, which is a folder's index. */
const fileFor = (path: string) => path.replace(/\/+$/, "").replace(/^\/docs$/, "/docs/");

/**
 * The documentation below /docs: files that scripts/assets.ts builds (docs/architecture.md#the-documentation-pages). They have
 * ETags; unknown paths get the page 404.html.
 */
export const documentation: MiddlewareHandler<App> = async (c) => {
	const path = fileFor(c.req.path);
	await (path === "/docs/reference" ? secureReference : securePage)(c, () =>
		sendFile(c, path, HASHED),
	);
};
