import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";

/** What a scope may speak of (docs/keys.md#personal-api-keys). */
export const objects = [
	"organization",
	"organization_member",
	"project",
	"batch_export",
	"plugin",
	"activity_log",
	"personal_api_key",
	"user",
] as const;
export type ScopeObject = (typeof objects)[number];
export type Scope = `${ScopeObject}:${"read" | "write"}`;

/** Every scope that a key can be given. */
export const scopes = ["*", ...objects.flatMap((object) => [`${object}:read`, `${object}:write`])];

/** The rule of section 5 of the interface, stated once: reading needs `:read`, all else `:write`. */
export const scopeFor = (object: ScopeObject, method: string): Scope =>
	`${object}:${method === "GET" || method === "HEAD" ? "read" : "write"}`;

/** Whether `granted` holds `scope`: itself, `*`, or `:write` where `:read` is asked. */
export const grants = (granted: string[], scope: string) =>
	granted.includes("*") ||
	granted.includes(scope) ||
	granted.includes(scope.replace(/:read$/, ":write"));

/** The handlers behind it need a scope of `object`; the guard asks for it. */
export const scope = (object: ScopeObject) =>
	createMiddleware<App>(async (c, next) => {
		c.set("scope", scopeFor(object, c.req.method));
		await next();
	});
