import type { ExecutionContext, MiddlewareHandler } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import { getPathNoStrict, mergePath } from "hono/utils/url";
import {
	asCaller,
	type Controlled,
	inOrganization,
	inProject,
	onOrganizations,
	onProjects,
	onProjectsOfOrganization,
} from "./access/middleware.ts";
import type { ScopeObject } from "./access/scopes.ts";
import type { App } from "./env.ts";
import { createApp, type Family, loadRoutes, mount, type PublicRoutes, type Row } from "./mount.ts";

/** The object of a family's scopes, and what access controls are about in it. */
type Declared = { scope: ScopeObject } & Controlled;

/** Returns a function for the rows of families under a path, which act in a tenant. */
const under =
	<const Base extends string>(base: Base, tenant: MiddlewareHandler<App>) =>
	<const Path extends string, Load extends Family["load"]>(
		path: Path,
		{ scope, ...access }: Declared,
		load: Load,
	) => ({ path: `${base}${path}` as const, object: scope, access, tenant, load });

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
const accessControls = () => import("./people/access_controls/routes.ts");
const activity = () => import("./activity/activity_log/routes.ts");
const apiKeys = () => import("./people/personal_api_keys/routes.ts");
const auditStreams = () => import("./activity/audit_streams/routes.ts");
const batchExports = () => import("./exports/batch_exports/routes.ts");
const deviceRequests = () => import("./oauth/device/routes.ts");
const deletions = () => import("./deletions/routes.ts");
const configs = () => import("./plugins/plugin_configs/routes.ts");
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

const OWN = "It is the caller's own account, not the organization's.";
const ACCOUNT = { scope: "user", because: OWN } as const;
const KEYS = { scope: "personal_api_key", because: OWN } as const;
const APPS = { scope: "organization", resource: "organization_member" } as const;
const ATTENTION = {
	scope: "organization",
	because: "It lists only objects that the caller may view.",
} as const;
const CONFIG = {
	scope: "plugin",
	resource: "plugin",
	isConfig: true,
	parameter: "plugin_config_id",
} as const;
const DOMAIN = { scope: "organization", resource: "domain" } as const;
const EXPORT = { scope: "batch_export", resource: "batch_export" } as const;
const LOG = { scope: "activity_log", resource: "activity_log" } as const;
const NOTIFICATIONS = { scope: "organization", resource: "activity_log" } as const;
const OF_DOMAIN = { ...DOMAIN, parameter: "domain_id" } as const;
const ORGANIZATION = {
	scope: "organization",
	because: "Every member sees the organization; the level decides who may change it.",
} as const;
const PEOPLE = { scope: "organization_member", resource: "organization_member" } as const;
const PLUGIN = { scope: "plugin", resource: "plugin" } as const;
const PROJECT = { scope: "project", resource: "project" } as const;
const STREAMS = { scope: "audit_stream", resource: "activity_log" } as const;
const WEBHOOK = { scope: "webhook", resource: "webhook" } as const;

/** The families: path, scopes and access, and routes. A path comes before those below it. */
export const families = [
	organizations("", ORGANIZATION, () => import("./organizations/organizations/routes.ts")),
	organization("/batch_exports", EXPORT, async () => (await batchExports()).ofOrganization()),
	organization("/batch_exports/:deleted_id/restore", EXPORT, async () =>
		(await deletions()).exportsOfOrganization(),
	),
	organization("/domains", DOMAIN, () => import("./organizations/domains/routes.ts")),
	organization("/domains/:domain_id/sign_in_test", OF_DOMAIN, signInTest),
	organization("/domains/:domain_id/scim", OF_DOMAIN, scim),
	organization("/access", PEOPLE, async () => (await accessControls()).access),
	organization("/access_controls", PEOPLE, accessControls),
	organization("/credentials", PEOPLE, () => import("./people/credentials/routes.ts")),
	organization("/invites", PEOPLE, () => import("./people/invites/routes.ts")),
	organization("/members", PEOPLE, () => import("./people/members/routes.ts")),
	organization("/members/:user__uuid/identities", PEOPLE, identitiesOfMember),
	organization("/members/:user__uuid/two_factor", PEOPLE, twoFactorOfMember),
	organization("/oauth_clients", APPS, oauthClients),
	organization("/oauth_grants", PEOPLE, consentsInOrganization),
	organization("/roles", PEOPLE, () => import("./people/roles/routes.ts")),
	organization("/service_accounts", PEOPLE, serviceAccounts),
	account("/keys", PEOPLE, async () => (await serviceAccounts()).keys),
	account("/trusted_issuers", PEOPLE, trustedIssuers),
	organizationProjects("", PROJECT, async () => (await projectRoutes()).ofOrganization()),
	organizationProjects("/:deleted_id/restore", PROJECT, async () => (await deletions()).projects()),
	organization("/activity_log", LOG, async () => (await activity()).ofOrganization()),
	organization("/events", LOG, () => import("./activity/events/routes.ts")),
	organization("/attention", ATTENTION, () => import("./activity/attention/routes.ts")),
	organization("/audit_streams", STREAMS, auditStreams),
	organization("/notifications", NOTIFICATIONS, notifications),
	organization("/webhooks", WEBHOOK, () => import("./activity/webhooks/routes.ts")),
	organization("/webhooks/:deleted_id/restore", WEBHOOK, async () =>
		(await deletions()).webhooks(),
	),
	organization("/plugins", PLUGIN, async () => (await plugins()).allPlugins()),
	organization("/plugins/:deleted_id/restore", PLUGIN, async () => (await deletions()).plugins()),
	organization("/plugin_configs", CONFIG, async () => (await configs()).ofOrganization),
	organization("/pipeline_destinations", PLUGIN, async () => (await plugins()).destinations()),
	organization("/pipeline_frontend_apps", PLUGIN, async () => (await plugins()).frontendApps()),
	organization("/pipeline_import_apps", PLUGIN, async () => (await plugins()).importApps()),
	projects("", PROJECT, async () => (await projectRoutes()).ofCaller()),
	project("/batch_exports", EXPORT, async () => (await batchExports()).ofProject()),
	project("/batch_exports/:deleted_id/restore", EXPORT, async () =>
		(await deletions()).exportsOfProject(),
	),
	project("/plugin_configs", CONFIG, configs),
	project("/plugin_configs/:deleted_id/restore", CONFIG, async () =>
		(await deletions()).pluginConfigs(),
	),
	project("/events", PROJECT, () => import("./exports/ingestion/routes.ts")),
	project("/members", PROJECT, () => import("./people/project_members/routes.ts")),
	project("/activity_log", LOG, async () => (await activity()).ofProject()),
	user("/users", ACCOUNT, () => import("./sign_in/erasure/routes.ts")),
	user("/users/:uuid/sessions", ACCOUNT, () => import("./people/sessions/routes.ts")),
	user("/users/:uuid/oauth_grants", ACCOUNT, () => import("./oauth/consents/routes.ts")),
	user("/users/:uuid/identities", ACCOUNT, () => import("./people/identities/routes.ts")),
	user("/users/:uuid/two_factor", ACCOUNT, () => import("./sign_in/totp/routes.ts")),
	user("/users/:uuid/passkeys", ACCOUNT, () => import("./sign_in/passkey/routes.ts")),
	user("/personal_api_keys", KEYS, apiKeys),
	user("/app_requests", KEYS, () => import("./oauth/requests/routes.ts")),
	user("/device_requests", KEYS, deviceRequests),
] as const satisfies Family[];

/** Routes that need no key. */
export const publicRoutes = [
	{ path: "/", load: () => import("./docs/service.ts") },
	{ path: "/api/invites", load: acceptance },
	{ path: "/api/sign_in", load: () => import("./sign_in/link/routes.ts") },
	{ path: "/invites", load: () => import("./people/invites/page.ts") },
	{ path: "/restorations", load: () => import("./deletions/page.ts") },
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
