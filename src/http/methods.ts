import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";
import { methodNotAllowed } from "./errors.ts";

const READS = ["GET", "HEAD"];

/** Whether a request with this method changes nothing. */
export const isRead = (method: string) => READS.includes(method);

/**
 * Rejects methods that a path doesn't support with a 405. HEAD comes with GET. `test/mount.test.ts`
 * reads the methods.
 */
export function allowOnly(methods: string[]) {
	const allowed = methods.flatMap((method) => (method === "GET" ? READS : [method]));
	return Object.assign(
		createMiddleware<App>(async (c, next) => {
			if (!allowed.includes(c.req.method)) throw methodNotAllowed(c.req.method, allowed);
			await next();
		}),
		{ allowed },
	);
}
