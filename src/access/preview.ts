import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";
import { isPreview } from "../http/preview.ts";

/** Ends a preview before the handler that makes the change, with the errors of the guard. */
export const endPreview = createMiddleware<App>(async (c, next) => {
	if (!isPreview(c)) return next();
	await c.var.tenant.read();
	return c.body(null, 204);
});
