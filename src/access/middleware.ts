import { createMiddleware } from "hono/factory";
import { PLUGINS_CONFIG, PLUGINS_INSTALL } from "../db/levels.ts";
import type { App } from "../env.ts";
import { isRead } from "../http/methods.ts";
import type { Where } from "./place.ts";
import { Tenant } from "./tenant.ts";

declare module "hono" {
	interface ContextVariableMap {
		tenant: Tenant;
		/** The level that the route requires of the caller. */
		level: number | undefined;
		/** The `plugins_access_level` that the route requires of the caller's organization. */
		plugins: number | undefined;
	}
}

const tenantOf = (where: Where) =>
	createMiddleware<App>(async (c, next) => {
		c.set("tenant", new Tenant(c, where));
		await next();
	});

/** Sets the tenant of the following routes: the caller, without an organization or project. */
export const asCaller = tenantOf({ kind: "caller" });

/** Sets the tenant: the organization in the path, which the routes are under. */
export const inOrganization = tenantOf({
	kind: "organization",
	parameter: "organization_id",
});

/** Sets the tenant: the organization in the path, or the caller's organizations. */
export const onOrganizations = tenantOf({
	kind: "organization",
	parameter: "id",
	itself: true,
});

/** Sets the tenant: the project in the path, or the projects of the organization in the path. */
export const onProjectsOfOrganization = tenantOf({
	kind: "organization",
	parameter: "organization_id",
	child: "id",
});

/** Sets the tenant: the project in the path, which the routes are under. */
export const inProject = tenantOf({
	kind: "project",
	parameter: "project_id",
});

/** Sets the tenant: the project in the path, or the caller's projects. */
export const onProjects = tenantOf({
	kind: "project",
	parameter: "id",
	itself: true,
});

/** Requires a membership of at least `level`. */
export const atLeast = (level: number) =>
	createMiddleware<App>(async (c, next) => {
		c.set("level", level);
		await next();
	});

/**
 * Requires that the organization can configure plugins (to read) or install plugins (to write)
 * (docs/plugins.md#access).
 */
export const pluginAccess = createMiddleware<App>(async (c, next) => {
	c.set("plugins", isRead(c.req.method) ? PLUGINS_CONFIG : PLUGINS_INSTALL);
	await next();
});
