import type { Hono, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { methodNotAllowed as checkMethod } from "hono/method-not-allowed";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import type { Schema } from "hono/types";
import activity_log from "./activity_log/routes.ts";
import { authenticate } from "./auth/authenticate.ts";
import { type ScopeObject, scope } from "./auth/scopes.ts";
import {
	asCaller,
	inOrganization,
	inProject,
	onOrganizations,
	onProjects,
} from "./db/tenant.ts";
import type { App } from "./env.ts";
import {
	methodNotAllowed,
	onError,
	onNotFound,
	respond,
	tooLarge,
} from "./http/errors.ts";
import { meter } from "./http/meter.ts";
import { router } from "./http/router.ts";
import organizations from "./organizations/routes.ts";
import personal_api_keys from "./personal_api_keys/routes.ts";
import project_members from "./project_members/routes.ts";
import projects from "./projects/routes.ts";
import service from "./service.ts";
import users from "./users/routes.ts";

type Routes = Hono<App, Schema, string>;

/** Where a family is mounted, the object that its scopes speak of, on whose behalf it acts, its routes. */
type Family = [
	path: string,
	object: ScopeObject,
	tenant: MiddlewareHandler<App>,
	routes: Routes,
];

const o = "/api/organizations/:organization_id";
const p = "/api/projects/:project_id";

export const families: Family[] = [
	["/api/organizations", "organization", onOrganizations, organizations],
	[`${o}/activity_log`, "activity_log", inOrganization, activity_log],
	["/api/projects", "project", onProjects, projects],
	[`${p}/members`, "project", inProject, project_members],
	[`${p}/activity_log`, "activity_log", inProject, activity_log],
	["/api/users", "user", asCaller, users],
	["/api/personal_api_keys", "personal_api_key", asCaller, personal_api_keys],
];

const MIB = 2 ** 20;

/** Closed unless `CORS_ORIGINS` names an origin. */
const crossOrigin: MiddlewareHandler<App> = (c, next) => {
	const origins = c.env.CORS_ORIGINS.split(",").map((origin) => origin.trim());
	if (origins.every((origin) => origin === "")) return next();
	return cors({
		origin: origins.includes("*") ? "*" : origins,
		exposeHeaders: [
			"Link",
			"Retry-After",
			"Server-Timing",
			"x-d1-bookmark",
			"X-Request-Id",
		],
	})(c, next);
};

export const app: Routes = router();
app
	.use(requestId(), meter, secureHeaders(), crossOrigin)
	.use(
		checkMethod({
			app,
			onMethodNotAllowed: (c, allowed) =>
				respond(c, methodNotAllowed(c.req.method, allowed)),
		}),
	)
	.route("/", service)
	.use(
		"/api/*",
		authenticate,
		bodyLimit({ maxSize: MIB, onError: (c) => respond(c, tooLarge(MIB)) }),
	);
for (const [path, object, tenant, routes] of families) {
	const family = router();
	// By exact pattern: a wildcard at /api/organizations would stand before the families below it, too.
	for (const at of new Set(routes.routes.map((route) => route.path)))
		family.use(at, scope(object), tenant);
	app.route(path, family.route("/", routes));
}
app.notFound(onNotFound).onError(onError);
