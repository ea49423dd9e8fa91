import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";
import { isRead } from "../http/methods.ts";

/** The objects of scopes (docs/keys.md#personal-api-keys). */
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
	"audit_stream",
] as const;
export type ScopeObject = (typeof objects)[number];
export type Scope = `${ScopeObject}:${"read" | "write"}`;

/** Used instead of a scope for routes that accept any key. */
export const ANY_KEY = "any key";

declare module "hono" {
	interface ContextVariableMap {
		scope: Scope | typeof ANY_KEY;
	}
}

/** All scopes that a key can have. */
export const scopes = ["*", ...objects.flatMap((object) => [`${object}:read`, `${object}:write`])];

/** The scopes of an app that doesn't say what it needs: everything can be read. */
export const READ_SCOPES = scopes.filter((scope) => scope.endsWith(":read"));

/** Returns the scope that a method requires: `:read` for GET and HEAD, `:write` for all others. */
export const scopeFor = (object: ScopeObject, method: string): Scope =>
	`${object}:${isRead(method) ? "read" : "write"}`;

/** Whether `granted` includes `scope`: itself, `*`, or `:write` for a `:read`. */
export const hasScope = (granted: string[], scope: string) =>
	granted.includes("*") ||
	granted.includes(scope) ||
	granted.includes(scope.replace(/:read$/, ":write"));

/**
 * Requires a scope of `object`, which the guard checks, and which a 401 names. `test/mount.test.ts`
 * reads the object.
 */
export const scope = (object: ScopeObject) =>
	Object.assign(
		createMiddleware<App>(async (c, next) => {
			const scope = scopeFor(object, c.req.method);
			c.set("scope", scope);
			c.set("needed_scopes", scope);
			await next();
		}),
		{ object },
	);

/** Requires a key, but no scope. */
export const anyKey = createMiddleware<App>(async (c, next) => {
	c.set("scope", ANY_KEY);
	await next();
});
