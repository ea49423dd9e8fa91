import type { Hono, MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { methodNotAllowed as checkMethod } from "hono/method-not-allowed";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import type { MergeSchemaPath, Schema } from "hono/types";
import activityLog from "./activity_log/routes.ts";
import auditStreams from "./audit_streams/routes.ts";
import { authenticate } from "./auth/authenticate.ts";
import batchExports from "./batch_exports/routes.ts";
import { fromDatabaseError } from "./db/errors.ts";
import { ADMIN } from "./db/levels.ts";
import { consolePages } from "./docs/console.ts";
import { documentation } from "./docs/docs.ts";
import { onlyReads } from "./docs/files.ts";
import domains from "./domains/routes.ts";
import type { App } from "./env.ts";
import events from "./events/routes.ts";
import feed from "./feed/routes.ts";
import type { AsDocumented, AssertNone, Differences } from "./http/answers.ts";
import { methodNotAllowed, onError, onNotFound, respond } from "./http/errors.ts";
import { caching } from "./http/etag.ts";
import { formatJson } from "./http/json.ts";
import { meter } from "./http/meter.ts";
import { allowedOrigins } from "./http/origins.ts";
import { logRequests } from "./http/request_log.ts";
import { router } from "./http/router.ts";
import { answerInVersion, chooseVersion } from "./http/versions.ts";
import invitePage from "./invites/page.ts";
import invites, { acceptance } from "./invites/routes.ts";
import { mcp } from "./mcp/routes.ts";
import members from "./members/routes.ts";
import notifications from "./notifications/routes.ts";
import organizations from "./organizations/routes.ts";
import { caller } from "./personal_api_keys/owner.ts";
import apiKeys from "./personal_api_keys/routes.ts";
import pluginConfigs from "./plugin_configs/routes.ts";
import { destination, frontendApp, importApp } from "./plugins/families.ts";
import plugins, { allPlugins } from "./plugins/routes.ts";
import projectMembers from "./project_members/routes.ts";
import projects from "./projects/routes.ts";
import service from "./service.ts";
import { account } from "./service_accounts/keys.ts";
import serviceAccounts from "./service_accounts/routes.ts";
import signIn from "./sign_in/routes.ts";
import { safeRetries } from "./tenant/idempotency.ts";
import {
	asCaller,
	atLeast,
	inOrganization,
	inProject,
	onOrganizations,
	onProjects,
	onProjectsOfOrganization,
} from "./tenant/middleware.ts";
import { ifMatch } from "./tenant/precondition.ts";
import { type ScopeObject, scope } from "./tenant/scopes.ts";
import twoFactor from "./two_factor/routes.ts";
import users from "./users/routes.ts";
import webhooks from "./webhooks/routes.ts";

type Routes = Hono<App, Schema, string>;

/** A family's path, the object of its scopes, the tenant that it acts for, and its routes. */
type Family = readonly [
	path: string,
	object: ScopeObject,
	tenant: MiddlewareHandler<App>,
	routes: Routes,
];

const ORGANIZATION = "/api/organizations/:organization_id";
const PROJECT = "/api/projects/:project_id";
const SERVICE_ACCOUNT = `${ORGANIZATION}/service_accounts/:service_account_id` as const;

export const families = [
	["/api/organizations", "organization", onOrganizations, organizations],
	[`${ORGANIZATION}/batch_exports`, "batch_export", inOrganization, batchExports],
	[`${ORGANIZATION}/domains`, "organization", inOrganization, domains],
	[`${ORGANIZATION}/invites`, "organization_member", inOrganization, invites],
	[`${ORGANIZATION}/members`, "organization_member", inOrganization, members],
	[`${ORGANIZATION}/service_accounts`, "organization_member", inOrganization, serviceAccounts],
	[
		`${SERVICE_ACCOUNT}/keys`,
		"organization_member",
		inOrganization,
		apiKeys(account, atLeast(ADMIN)),
	],
	[`${ORGANIZATION}/projects`, "project", onProjectsOfOrganization, projects],
	[`${ORGANIZATION}/activity_log`, "activity_log", inOrganization, activityLog],
	[`${ORGANIZATION}/events`, "activity_log", inOrganization, feed],
	[`${ORGANIZATION}/audit_streams`, "activity_log", inOrganization, auditStreams],
	[`${ORGANIZATION}/notifications`, "organization", inOrganization, notifications],
	[`${ORGANIZATION}/webhooks`, "webhook", inOrganization, webhooks],
	[`${ORGANIZATION}/plugins`, "plugin", inOrganization, allPlugins],
	[`${ORGANIZATION}/pipeline_destinations`, "plugin", inOrganization, plugins(destination)],
	[`${ORGANIZATION}/pipeline_frontend_apps`, "plugin", inOrganization, plugins(frontendApp)],
	[`${ORGANIZATION}/pipeline_import_apps`, "plugin", inOrganization, plugins(importApp)],
	["/api/projects", "project", onProjects, projects],
	[`${PROJECT}/batch_exports`, "batch_export", inProject, batchExports],
	[`${PROJECT}/plugin_configs`, "plugin", inProject, pluginConfigs],
	[`${PROJECT}/events`, "project", inProject, events],
	[`${PROJECT}/members`, "project", inProject, projectMembers],
	[`${PROJECT}/activity_log`, "activity_log", inProject, activityLog],
	["/api/users", "user", asCaller, users],
	["/api/users/:uuid/two_factor", "user", asCaller, twoFactor],
	["/api/personal_api_keys", "personal_api_key", asCaller, apiKeys(caller)],
] as const satisfies Family[];

/** Routes that need no key. */
export const publicRoutes = [
	["/", service],
	["/api/invites", acceptance],
	["/api/sign_in", signIn],
	["/invites", invitePage],
] as const satisfies (readonly [path: string, routes: Routes])[];

/** Makes the compiler compare the answers of all routes with the shapes that they document. */
export type WrongAnswers = AssertNone<
	Differences<(typeof families)[number][3]> | Differences<(typeof publicRoutes)[number][1]>
>;

/** The routes of one row of a table above, below the row's path. */
type Mounted<Row> = Row extends readonly [infer Path extends string, ...unknown[], infer R]
	? R extends Hono<App, infer S, string>
		? AsDocumented<MergeSchemaPath<S, Path>>
		: never
	: never;

type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
	all: infer All,
) => void
	? All
	: never;

type Routed = Intersection<Mounted<(typeof families)[number] | (typeof publicRoutes)[number]>>;

/**
 * The type of the whole API, for a typed client: `hc<AppType>(url)`
 * (https://hono.dev/docs/guides/rpc).
 */
export type AppType = Hono<App, Routed extends Schema ? Routed : never, "/">;

/** Headers of responses that scripts of other origins may read. */
const EXPOSED_HEADERS = [
	"Content-Disposition",
	"Deprecation",
	"ETag",
	"Idempotency-Replayed",
	"Link",
	"RateLimit",
	"RateLimit-Policy",
	"Retry-After",
	"Server-Timing",
	"Sunset",
	"Tenantry-Version",
	"x-d1-bookmark",
	"X-Request-Id",
];

/** CORS for the origins in `CORS_ORIGINS`; off if there are none. */
const crossOrigin: MiddlewareHandler<App> = (c, next) => {
	const origins = allowedOrigins(c.env);
	if (origins.length === 0) return next();
	return cors({
		origin: origins.includes("*") ? "*" : origins,
		exposeHeaders: EXPOSED_HEADERS,
	})(c, next);
};

/**
 * Answers 405 for methods that a path such as `/bulk` lacks; otherwise `/:id` would match with the
 * id `bulk`.
 */
const allowOnlyMethodsOf = (handlers: { method: string }[]): MiddlewareHandler<App> => {
	const methods = new Set(handlers.map(({ method }) => method));
	const allowed = [...methods].flatMap((method) =>
		method === "GET" ? [method, "HEAD"] : [method],
	);
	return async (c, next) => {
		if (!allowed.includes(c.req.method)) throw methodNotAllowed(c.req.method, allowed);
		await next();
	};
};

/**
 * The paths of `routes` with their handlers. Middleware is mounted on each: a wildcard would also
 * match families below.
 */
const pathsOf = (routes: Routes) => Map.groupBy(routes.routes, ({ path }) => path);

export const app: Routes = router();
app
	.use(requestId(), logRequests, meter)
	.use("/api/*", caching)
	.use(formatJson, answerInVersion(), secureHeaders(), crossOrigin)
	.use(
		checkMethod({
			app,
			onMethodNotAllowed: (c, allowed) => respond(c, methodNotAllowed(c.req.method, allowed)),
		}),
	);
app.use("/docs/*", onlyReads, documentation);
app.use("/console/*", onlyReads, consolePages);
for (const [path, routes] of publicRoutes) {
	const family = router();
	for (const [at, handlers] of pathsOf(routes))
		if (!at.includes("*")) {
			family.use(at, allowOnlyMethodsOf(handlers));
			if (path.startsWith("/api/")) family.use(at, chooseVersion());
		}
	app.route(path, family.route("/", routes));
}
app.use("/api/*", authenticate, chooseVersion());
for (const [path, object, tenant, routes] of families) {
	const family = router();
	for (const [at, handlers] of pathsOf(routes)) {
		if (!/[:*]/.test(at)) family.use(at, allowOnlyMethodsOf(handlers));
		family.use(at, scope(object), safeRetries, ifMatch(path, routes.routes, at), tenant);
	}
	app.route(path, family.route("/", routes));
}
app.route(
	"/mcp",
	mcp((request, c) => app.fetch(request, c.env, c.executionCtx)),
);
app.notFound(onNotFound).onError(onError(fromDatabaseError));
