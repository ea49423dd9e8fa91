import { createMiddleware } from "hono/factory";
import { PLUGINS_CONFIG, PLUGINS_INSTALL } from "../db/schema/levels.ts";
import type { App } from "../env.ts";
import { isRead } from "../http/methods.ts";
import { isPreview } from "../http/preview.ts";
import { noteAccess } from "./access_events.ts";
import { readTarget, type Target } from "./target.ts";
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

/**
 * Sets the tenant of the following routes.
 * @param parameters the parameters of the path with the ids
 */
const actingIn = (
	kind: Target["kind"],
	parameters: { organization?: string; project?: string } = {},
	isEnd = false,
) =>
	createMiddleware<App>(async (c, next) => {
		const { organization, project } = parameters;
		const named = {
			organization: organization && c.req.param(organization),
			project: project && c.req.param(project),
		};
		c.set("tenant", new Tenant(c, readTarget({ kind, endsThere: isEnd, ...named })));
		await next();
		noteAccess(c);
	});

/** The caller, without an organization or project. */
export const asCaller = actingIn("caller");

/** The organization in the path, which the routes are under. */
export const inOrganization = actingIn("organization", { organization: "organization_id" });

/** The organization in the path, or the caller's organizations. */
export const onOrganizations = actingIn("organization", { organization: "id" }, true);

/** A project of the organization in the path, or all of them. */
export const onProjectsOfOrganization = actingIn("organization", {
	organization: "organization_id",
	project: "id",
});

/** The project in the path, which the routes are under. */
export const inProject = actingIn("project", { project: "project_id" });

/** The project in the path, or the caller's projects. */
export const onProjects = actingIn("project", { project: "id" }, true);

/** Requires a membership of at least `level`. */
export const atLeast = (level: number) =>
	createMiddleware<App>(async (c, next) => {
		c.set("level", level);
		await next();
	});

/** Requires the `plugins_access_level` to read or write (docs/plugins.md#access). */
export const pluginAccess = createMiddleware<App>(async (c, next) => {
	c.set("plugins", isRead(c.req.method) ? PLUGINS_CONFIG : PLUGINS_INSTALL);
	await next();
});

/** For a preview, runs the guard and returns before the handler writes. */
export const endPreview = createMiddleware<App>(async (c, next) => {
	if (!isPreview(c)) return next();
	await c.var.tenant.read();
	return c.body(null, 204);
});
