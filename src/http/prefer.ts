import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";
import type { Operation } from "./router.ts";

declare module "hono" {
	interface ContextVariableMap {
		/** The operation of a request that asked for strict handling; undefined for other requests. */
		strict: Operation | undefined;
	}
}

/**
 * Returns the value of a preference in `Prefer` (RFC 7240), "" if it has none, or undefined if the
 * request doesn't have it. Of several with the same name, the first counts.
 */
export function preferenceOf({ req }: Context, name: string): string | undefined {
	for (const part of req.header("prefer")?.split(",") ?? []) {
		// What follows a semicolon are parameters, which no preference of ours has.
		const [given = ""] = part.split(";", 1);
		const [found = "", value = ""] = given.split("=", 2).map((word) => word.trim().toLowerCase());
		if (found === name) return value.replace(/^"(.*)"$/, "$1");
	}
	return undefined;
}

/** Adds that a preference was applied to the response, also to an error. */
export const applied = (c: Context, preference: string) =>
	c.res.headers.append("Preference-Applied", preference);

/**
 * Remembers whether the request asked for strict handling, for the checks of its body and its query
 * (src/http/valid.ts).
 */
export const readHandling = (operation: Operation) =>
	createMiddleware<App>(async (c, next) => {
		if (preferenceOf(c, "handling") !== "strict") return next();
		c.set("strict", operation);
		await next();
		applied(c, "handling=strict");
	});
