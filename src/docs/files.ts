import type { Context, MiddlewareHandler } from "hono";
import type { App } from "../env.ts";
import { methodNotAllowed } from "../http/errors.ts";
import { isRead, READS } from "../http/methods.ts";

/** Rejects all methods except GET and HEAD with a 405. */
export const onlyReads: MiddlewareHandler<App> = async (c, next) => {
	const { method } = c.req;
	if (!isRead(method)) throw methodNotAllowed(method, READS);
	await next();
};

/**
 * Sends a file of `public/`. Files whose paths match `hashed` can be cached for a year, because
 * their names change with their content.
 */
export async function sendFile(c: Context<App>, path: string, hashed: RegExp) {
	const file = await c.env.ASSETS.fetch(new Request(new URL(path, c.req.url), c.req.raw));
	c.res = c.newResponse(file.body, file);
	if (hashed.test(path) && file.status < 400)
		c.header("Cache-Control", "public, max-age=31536000, immutable");
}
