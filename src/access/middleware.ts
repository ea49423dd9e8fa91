import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import {
	type AccessLevel,
	PLUGINS_CONFIG,
	PLUGINS_INSTALL,
	type Resource,
} from "../db/schema/levels.ts";
import type { App } from "../env.ts";
import { isRead } from "../http/methods.ts";
import { isPreview } from "../http/preview.ts";
import { isLookedUp } from "./controlled_objects.ts";
import { readTarget, type Target } from "./target.ts";
import { Tenant } from "./tenant.ts";

declare module "hono" {
	interface ContextVariableMap {
		tenant: Tenant;
		/** The level that the route requires of the caller. */
		level: number | undefined;
		/** What access controls are about at the route. */
		controlled: Controlled;
		/** The access to it that the route requires of the caller. */
		need: AccessLevel;
		/** The `plugins_access_level` that the route requires of the caller's organization. */
		plugins: number | undefined;
	}
}

/** Returns the object in the path that access controls can be about, besides projects. */
function objectIn(c: Context<App>): Target["object"] {
	const family = c.get("controlled");
	if (!family.resource || !isLookedUp(family.resource)) return undefined;
	const { resource, parameter = "id", isConfig } = family;
	const id = c.req.param(parameter) ?? c.req.param("id");
	if (id === undefined) return undefined;
	return { kind: isConfig ? "plugin_config" : resource, id: id.toLowerCase() };
}

/** Whether the log may note a request, by its response (src/access/access_events.ts). */
const isNoted = (c: Context<App>) =>
	c.res.status === 403 ||
	c.get("scope") === "activity_log:read" ||
	c.res.headers.has("content-disposition");

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
		const object = objectIn(c);
		c.set("tenant", new Tenant(c, { ...readTarget({ kind, endsThere: isEnd, ...named }), object }));
		await next();
		if (isNoted(c)) (await import("./access_events.ts")).noteAccess(c);
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
	Object.assign(
		createMiddleware<App>(async (c, next) => {
			c.set("level", level);
			await next();
		}),
		{ level },
	);

/** What the access controls of a family are about (docs/access.md#resources). */
export type Controlled =
	| {
			resource: Resource;
			/** The parameter with the object's id in paths where it isn't `id`. */
			parameter?: string;
			/** The id is that of one of a plugin's configs. */
			isConfig?: true;
			because?: undefined;
	  }
	/** Access controls aren't about the family, for this reason. */
	| { resource?: undefined; because: string };

/** The access that a method requires, unless the route says otherwise. */
export function needOf(method: string): AccessLevel {
	if (isRead(method)) return "viewer";
	return method === "DELETE" ? "manager" : "editor";
}

/** Tells the guard which access a family's routes require. The OpenAPI document says it, too. */
export const controlled = (family: Controlled) =>
	Object.assign(
		createMiddleware<App>(async (c, next) => {
			c.set("controlled", family);
			c.set("need", needOf(c.req.method));
			await next();
		}),
		{ family },
	);

/** Requires this access instead of that of the method. */
export const needs = (need: AccessLevel) =>
	Object.assign(
		createMiddleware<App>(async (c, next) => {
			c.set("need", need);
			await next();
		}),
		{ need },
	);

/**
 * Says which access and level the handler requires of an object that the guard can't find, because it
 * is deleted.
 */
export const needsOfDeleted = (need: AccessLevel, level: number | undefined) =>
	Object.assign(
		createMiddleware<App>(async (c, next) => {
			c.set("need", "none");
			await next();
		}),
		{ need, ...(level !== undefined && { level }) },
	);

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
