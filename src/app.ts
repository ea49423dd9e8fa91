import type { ExecutionContext, MiddlewareHandler } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import { getPathNoStrict, mergePath } from "hono/utils/url";
import {
	asCaller,
	inOrganization,
	inProject,
	onOrganizations,
	onProjects,
	onProjectsOfOrganization,
} from "./access/middleware.ts";
import type { ScopeObject } from "./access/scopes.ts";
import type { App } from "./env.ts";
import { createApp, type Family, loadRoutes, mount, type PublicRoutes, type Row } from "./mount.ts";

/** Returns a function for the rows of families under a path, which act in a tenant. */
const under =
	<const Base extends string>(base: Base, tenant: MiddlewareHandler<App>) =>
	<const Path extends string, Load extends Family["load"]>(
		path: Path,
		object: ScopeObject,
		load: Load,
	) => ({ path: `${base}${path}` as const, object, tenant, load });

const user = under("/api", asCaller);
const organizations = under("/api/organizations", onOrganizations);
const organization = under("/api/organizations/:organization_id", inOrganization);
const organizationProjects = under(
	"/api/organizations/:organization_id/projects",
	onProjectsOfOrganization,
);
const account = under(
	"/api/organizations/:organization_id/service_accounts/:service_account_id",
	inOrganization,
);
const projects = under("/api/projects", onProjects);
const project = under("/api/projects/:project_id", inProject);

const acceptance = async () => (await import("./people/invites/routes.ts")).acceptance;
const activity = () => import("./activity/activity_log/routes.ts");
const apiKeys = () => import("./people/personal_api_keys/routes.ts");
const auditStreams = () => import("./activity/audit_streams/routes.ts");
const batchExports = () => import("./exports/batch_exports/routes.ts");
const deviceRequests = () => import("./oauth/device/routes.ts");
const consentsInOrganization = async () =>
	(await import("./oauth/consents/routes.ts")).inOrganization;
const identitiesOfMember = async () => (await import("./people/identities/routes.ts")).ofMember;
const notifications = () => import("./activity/notifications/routes.ts");
const oauthClients = () => import("./oauth/apps/routes.ts");
const projectRoutes = () => import("./organizations/projects/routes.ts");
const plugins = () => import("./plugins/plugins/routes.ts");
const signInTest = () => import("./sign_in/trial/routes.ts");
const scim = () => import("./people/scim/routes.ts");
const serviceAccounts = () => import("./people/service_accounts/routes.ts");
const twoFactorOfMember = async () => (await import("./sign_in/totp/routes.ts")).ofMember;
const trustedIssuers = () => import("./oauth/issuers/routes.ts");

/** The families: path, object of the scopes, and routes. A path comes before those below it. */
export const families = [
	organizations("", "organization", () => import("./organizations/organizations/routes.ts")),
	organization("/batch_exports", "batch_export", async () =>
		(await batchExports()).ofOrganization(),
	),
	organization("/domains", "organization", () => import("./organizations/domains/routes.ts")),
	organization("/domains/:domain_id/sign_in_test", "organization", signInTest),
	organization("/domains/:domain_id/scim", "organization", scim),
	organization("/invites", "organization_member", () => import("./people/invites/routes.ts")),
	organization("/members", "organization_member", () => import("./people/members/routes.ts")),
	organization("/members/:user__uuid/identities", "organization_member", identitiesOfMember),
	organization("/members/:user__uuid/two_factor", "organization_member", twoFactorOfMember),
	organization("/oauth_clients", "organization", oauthClients),
	organization("/oauth_grants", "organization_member", consentsInOrganization),
	organization("/service_accounts", "organization_member", serviceAccounts),
	account("/keys", "organization_member", async () => (await serviceAccounts()).keys),
	account("/trusted_issuers", "organization_member", trustedIssuers),
	organizationProjects("", "project", async () => (await projectRoutes()).ofOrganization()),
	organization("/activity_log", "activity_log", async () => (await activity()).ofOrganization()),
	organization("/events", "activity_log", () => import("./activity/events/routes.ts")),
	organization("/audit_streams", "audit_stream", auditStreams),
	organization("/notifications", "organization", notifications),
	organization("/webhooks", "webhook", () => import("./activity/webhooks/routes.ts")),
	organization("/plugins", "plugin", async () => (await plugins()).allPlugins()),
	organization("/pipeline_destinations", "plugin", async () => (await plugins()).destinations()),
	organization("/pipeline_frontend_apps", "plugin", async () => (await plugins()).frontendApps()),
	organization("/pipeline_import_apps", "plugin", async () => (await plugins()).importApps()),
	projects("", "project", async () => (await projectRoutes()).ofCaller()),
	project("/batch_exports", "batch_export", async () => (await batchExports()).ofProject()),
	project("/plugin_configs", "plugin", () => import("./plugins/plugin_configs/routes.ts")),
	project("/events", "project", () => import("./exports/ingestion/routes.ts")),
	project("/members", "project", () => import("./people/project_members/routes.ts")),
	project("/activity_log", "activity_log", async () => (await activity()).ofProject()),
	user("/users", "user", () => import("./people/users/routes.ts")),
	user("/users/:uuid/sessions", "user", () => import("./people/sessions/routes.ts")),
	user("/users/:uuid/oauth_grants", "user", () => import("./oauth/consents/routes.ts")),
	user("/users/:uuid/identities", "user", () => import("./people/identities/routes.ts")),
	user("/users/:uuid/two_factor", "user", () => import("./sign_in/totp/routes.ts")),
	user("/users/:uuid/passkeys", "user", () => import("./sign_in/passkey/routes.ts")),
	user("/personal_api_keys", "personal_api_key", apiKeys),
	user("/app_requests", "personal_api_key", () => import("./oauth/requests/routes.ts")),
	user("/device_requests", "personal_api_key", deviceRequests),
] as const satisfies Family[];

/** Routes that need no key. */
export const publicRoutes = [
	{ path: "/", load: () => import("./docs/service.ts") },
	{ path: "/api/invites", load: acceptance },
	{ path: "/api/sign_in", load: () => import("./sign_in/link/routes.ts") },
	{ path: "/invites", load: () => import("./people/invites/page.ts") },
	{ path: "/sso", load: () => import("./sign_in/oidc/routes.ts") },
	{ path: "/sso/saml", load: () => import("./sign_in/saml/routes.ts") },
] as const satisfies PublicRoutes[];

/**
 * Protocols of others, with their own form of errors and their own description. They aren't part of
 * the OpenAPI document.
 */
export const protocols = [
	{ path: "/.well-known", load: () => import("./oauth/metadata.ts") },
	{ path: "/oauth", load: () => import("./oauth/endpoint.ts") },
	{ path: "/scim/v2/:domain_id", load: () => import("./people/scim/endpoint/routes.ts") },
] as const satisfies PublicRoutes[];

/** Finds the rows that contain a path, the longest last. */
const rows = new TrieRouter<Row>();
for (const row of [...publicRoutes, ...protocols, ...families])
	rows.add("ALL", mergePath(row.path, "*"), row);

/** The rows whose routes have been added to the app. */
const added = new Set<Row>();

const service = createApp((request, { env, executionCtx }) =>
	app.fetch(request, env, executionCtx),
);

/** The whole service. The routes of a row are loaded on the first request for its path. */
export const app = {
	async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
		const [row] = rows.match("ALL", getPathNoStrict(request))[0].at(-1) ?? [];
		if (row && !added.has(row)) {
			const routes = await loadRoutes(row);
			// Another request may have been faster.
			if (!added.has(row)) mount(service, row, routes);
			added.add(row);
		}
		return service.fetch(request, env, context);
	},
};
