import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";

/** The objects that scopes are for (docs/keys.md#personal-api-keys). */
export const objects = [
	"organization",
	"organization_member",
	"project",
	"batch_export",
	"plugin",
	"activity_log",
	"personal_api_key",
	"user",
	"webhook",
] as const;
export type ScopeObject = (typeof objects)[number];
export type Scope = `${ScopeObject}:${"read" | "write"}`;

/** In place of a scope, for what any key may do. */
export const ANY_KEY = "any key";

/** Every scope that a key can be given. */
export const scopes = ["*", ...objects.flatMap((object) => [`${object}:read`, `${object}:write`])];

/** The scope that a method requires: `:read` for GET and HEAD, `:write` for all others. */
export const scopeFor = (object: ScopeObject, method: string): Scope =>
	`${object}:${method === "GET" || method === "HEAD" ? "read" : "write"}`;

/** Whether `granted` includes `scope`: as it is, as `*`, or as `:write` for a `:read`. */
export const grants = (granted: string[], scope: string) =>
	granted.includes("*") ||
	granted.includes(scope) ||
	granted.includes(scope.replace(/:read$/, ":write"));

/** The routes after it require a scope of `object`, which the guard checks. */
export const scope = (object: ScopeObject) =>
	createMiddleware<App>(async (c, next) => {
		c.set("scope", scopeFor(object, c.req.method));
		await next();
	});

/** The routes after it require a key, but no scope. */
export const anyKey = createMiddleware<App>(async (c, next) => {
	c.set("scope", ANY_KEY);
	await next();
});
