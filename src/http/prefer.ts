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

/** A preference with its value, which can be quoted, and parameters, which we ignore. */
const PREFERENCE = /^\s*([\w-]+)\s*(?:=\s*(?:"([^"]*)"|([^\s";]*)))?\s*(?:;|$)/;

/**
 * Returns the value of a preference in `Prefer` (RFC 7240), "" if it has none, or undefined if the
 * request doesn't have it. Of several with the same name, the first counts.
 */
export function preferenceOf({ req }: Context, name: string): string | undefined {
	for (const part of req.header("prefer")?.split(",") ?? []) {
		const [, found, quoted, token] = PREFERENCE.exec(part) ?? [];
		if (found?.toLowerCase() === name) return (quoted ?? token ?? "").toLowerCase();
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
