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

/** The objects that a key can also be allowed to run: use their operations without changing them. */
const runnable = ["batch_export"] as const satisfies ScopeObject[];

export type Scope = `${ScopeObject}:${"read" | "write"}` | `${(typeof runnable)[number]}:run`;

/** What scopes allow, each with all that is before it. */
const LEVELS = ["read", "run", "write"];

/** Used instead of a scope for routes that accept any key. */
export const ANY_KEY = "any key";

declare module "hono" {
	interface ContextVariableMap {
		scope: Scope | typeof ANY_KEY;
	}
}

/** All scopes that a key can have. */
export const scopes = [
	"*",
	...objects.flatMap((object) =>
		LEVELS.filter((level) => level !== "run" || runnable.some((one) => one === object)).map(
			(level) => `${object}:${level}`,
		),
	),
];

/** The scopes of an app that doesn't say what it needs: everything can be read. */
export const READ_SCOPES = scopes.filter((scope) => scope.endsWith(":read"));

/**
 * Returns the scope that an operation requires: `:read` for GET and HEAD, `:write` for all others.
 * @param own the scope of the operation if it requires another one
 */
export const scopeFor = (object: ScopeObject, method: string, own?: Scope): Scope =>
	own ?? (isRead(method) ? `${object}:read` : `${object}:write`);

/** Returns the scopes that include `scope`: itself, `*`, and what allows more of the same object. */
export function scopesWith(scope: string) {
	const [object, level = ""] = scope.split(":");
	const more = LEVELS.slice(LEVELS.indexOf(level) + 1).map((other) => `${object}:${other}`);
	return ["*", scope, ...(LEVELS.includes(level) ? more : [])];
}

/** Whether `granted` includes `scope`. */
export const hasScope = (granted: string[], scope: string) =>
	scopesWith(scope).some((one) => granted.includes(one));

/**
 * Requires a scope of `object`, which the guard checks, and which a 401 names. `test/mount.test.ts`
 * reads the object.
 */
export const scope = (object: ScopeObject, own?: Scope) =>
	Object.assign(
		createMiddleware<App>(async (c, next) => {
			const scope = scopeFor(object, c.req.method, own);
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
