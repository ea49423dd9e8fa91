import { createMiddleware } from "hono/factory";
import { PLUGINS_CONFIG, PLUGINS_INSTALL } from "../db/levels.ts";
import type { App } from "../env.ts";
import type { Where } from "./place.ts";
import { Tenant } from "./tenant.ts";

const tenantOf = (where: Where) =>
	createMiddleware<App>(async (c, next) => {
		c.set("tenant", new Tenant(c, where));
		await next();
	});

/** The routes after it act for the caller, without an organization or project. */
export const asCaller = tenantOf({ kind: "caller" });

/** The routes after it act in the organization whose path they are below. */
export const inOrganization = tenantOf({
	kind: "organization",
	parameter: "organization_id",
});

/** The routes after it act on the caller's organizations, or on the one in the path. */
export const onOrganizations = tenantOf({
	kind: "organization",
	parameter: "id",
	itself: true,
});

/**
 * The routes after it act on the projects of the organization in the path, or on the one in the
 * path.
 */
export const onProjectsOfOrganization = tenantOf({
	kind: "organization",
	parameter: "organization_id",
	child: "id",
});

/** The routes after it act in the project whose path they are below. */
export const inProject = tenantOf({
	kind: "project",
	parameter: "project_id",
});

/** The routes after it act on the caller's projects, or on the one in the path. */
export const onProjects = tenantOf({
	kind: "project",
	parameter: "id",
	itself: true,
});

/** The route requires a membership of at least `level`. */
export const atLeast = (level: number) =>
	createMiddleware<App>(async (c, next) => {
		c.set("level", level);
		await next();
	});

/**
 * Reading requires that the organization may configure plugins; writing, that it may install them
 * (docs/plugins.md#access).
 */
export const pluginAccess = createMiddleware<App>(async (c, next) => {
	const isRead = c.req.method === "GET" || c.req.method === "HEAD";
	c.set("plugins", isRead ? PLUGINS_CONFIG : PLUGINS_INSTALL);
	await next();
});
