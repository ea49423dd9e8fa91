import type { furnished } from "./world.ts";

/** A tenant, with the ids for the paths and bodies of the routes. */
export type World = Awaited<ReturnType<typeof furnished>>;

export type Route = {
	method: string;
	path: string;
	/** null: the route needs no key. */
	scope: string | null;
	/** Returns a valid body. */
	body?: (world: World) => unknown;
	/** The status of a route that always fails. */
	fails?: number;
};

const route =
	(path: string) =>
	(method: string, below: string, scope: string | null, body?: Route["body"]): Route => ({
		method,
		path: `${path}${below}`,
		scope,
		...(body && { body }),
	});

/** The routes that list, create, read, change and delete the objects of a family. */
const crud = (
	family: ReturnType<typeof route>,
	object: string,
	[create, update]: [create: Route["body"], update: Route["body"]],
) => [
	family("GET", "", `${object}:read`),
	family("POST", "", `${object}:write`, create),
	family("GET", "/:id", `${object}:read`),
	family("PATCH", "/:id", `${object}:write`, update),
	family("DELETE", "/:id", `${object}:write`),
];

const organizations = route("/api/organizations");
const domains = route("/api/organizations/:organization_id/domains");
const scim = route("/api/organizations/:organization_id/domains/:domain_id/scim");
const invites = route("/api/organizations/:organization_id/invites");
const auditStreams = route("/api/organizations/:organization_id/audit_streams");
const members = route("/api/organizations/:organization_id/members");
const projects = route("/api/projects");
const webhooks = route("/api/organizations/:organization_id/webhooks");
const keys = route("/api/personal_api_keys");
const sessions = route("/api/users/:uuid/sessions");
const signInTest = route("/api/organizations/:organization_id/domains/:domain_id/sign_in_test");
const twoFactor = route("/api/users/:uuid/two_factor");
const passkeys = route("/api/users/:uuid/passkeys");
const accounts = route("/api/organizations/:organization_id/service_accounts");
const grants = route("/api/organizations/:organization_id/oauth_grants");
const accountKeys = route(
	"/api/organizations/:organization_id/service_accounts/:service_account_id/keys",
);
const trustedIssuers = route(
	"/api/organizations/:organization_id/service_accounts/:service_account_id/trusted_issuers",
);

const clients = route("/api/organizations/:organization_id/oauth_clients");
const appRequests = route("/api/app_requests");

const deviceRequests = route("/api/device_requests");

const NEW = () => ({ name: "New" });
const RENAMED = () => ({ name: "Renamed" });

/** A code that no device shows. */
const USER_CODE = { user_code: "BCDF-GHJK" };

/** At most what the key of a test has that has only the scope of the route. */
const SCOPES = { scopes: ["personal_api_key:read"] };

/** A request of an app that doesn't exist. */
const APP_REQUEST = {
	response_type: "code",
	client_id: "x",
	redirect_uri: "x",
	code_challenge: "x".repeat(43),
	code_challenge_method: "S256",
};

/** The routes of API keys, those of the user or of a service account. */
const keeping = (keys: ReturnType<typeof route>, object: string) => [
	...crud(keys, object, [
		() => ({ label: "New", scopes: [`${object}:read`] }),
		() => ({ label: "Renamed" }),
	]),
	keys("POST", "/:id/roll", `${object}:write`),
	keys("GET", "/:id/usage", `${object}:read`),
];

const [exportsOfOrganization, exportsOfProject] = [
	route("/api/organizations/:organization_id/batch_exports"),
	route("/api/projects/:project_id/batch_exports"),
];

/** The published routes of batch exports. */
const exporting = (exports: ReturnType<typeof route>) => [
	...crud(exports, "batch_export", [
		() => ({ name: "New", destination: { type: "NoOp", config: {} }, interval: "hour" }),
		RENAMED,
	]),
	exports("POST", "/:id/backfill", "batch_export:write"),
	exports("GET", "/:id/logs", "batch_export:read"),
	exports("POST", "/:id/pause", "batch_export:write"),
	exports("POST", "/:id/unpause", "batch_export:write"),
];

/** docs/exports.md#runs, and the test of a destination. */
const alsoExports = (exports: ReturnType<typeof route>) => [
	exports("POST", "/test", "batch_export:write", () => ({
		destination: { type: "NoOp", config: {} },
	})),
	exports("POST", "/:id/test", "batch_export:write"),
	exports("GET", "/:id/metrics", "batch_export:read"),
	exports("GET", "/:id/ranges", "batch_export:read"),
	exports("GET", "/:id/runs", "batch_export:read"),
	exports("GET", "/:id/runs/:run_id", "batch_export:read"),
	exports("POST", "/:id/runs/:run_id/cancel", "batch_export:write"),
	exports("POST", "/:id/runs/:run_id/retry", "batch_export:write"),
	exports("GET", "/:id/runs/:run_id/logs", "batch_export:read"),
	exports("GET", "/:id/backfills", "batch_export:read"),
	exports("GET", "/:id/backfills/:backfill_id", "batch_export:read"),
	exports("POST", "/:id/backfills/:backfill_id/cancel", "batch_export:write"),
];

/** Further routes of a plugin family. */
const alsoPlugins = (plugins: ReturnType<typeof route>) => [
	plugins("GET", "/:id/check_for_updates", "plugin:read"),
	plugins("GET", "/:id/source", "plugin:read"),
	plugins("PATCH", "/:id/update_source", "plugin:write", () => ({
		"index.js": "",
	})),
	plugins("POST", "/:id/upgrade", "plugin:write"),
	plugins("GET", "/activity", "plugin:read"),
	plugins("GET", "/exports_unsubscribe_configs", "plugin:read"),
	plugins("GET", "/repository", "plugin:read"),
	plugins("GET", "/unused", "plugin:read"),
];

const imports = route("/api/organizations/:organization_id/pipeline_import_apps");
const configs = route("/api/projects/:project_id/plugin_configs");

/**
 * The routes that published clients call, each with its method, path and scope (docs/api.md#paths).
 * A test compares the list with the application in both directions; the shared suites call every
 * route.
 */
const published: Route[] = [
	// Organizations
	...crud(organizations, "organization", [NEW, RENAMED]),
	// Batch exports
	...exporting(exportsOfOrganization),
	// Domains
	...crud(domains, "organization", [
		() => ({ domain: `${crypto.randomUUID()}.example.com` }),
		() => ({ saml_entity_id: "entity" }),
	]),
	domains("POST", "/:id/verify", "organization:write"),
	// Invites
	invites("GET", "", "organization_member:read"),
	invites("POST", "", "organization_member:write", () => ({
		target_email: `${crypto.randomUUID()}@tenantry.test`,
	})),
	invites("DELETE", "/:id", "organization_member:write"),
	invites("POST", "/bulk", "organization_member:write", () => [
		{ target_email: `${crypto.randomUUID()}@tenantry.test` },
		{ target_email: `${crypto.randomUUID()}@tenantry.test` },
	]),
	// Members
	members("GET", "", "organization_member:read"),
	members("PATCH", "/:user__uuid", "organization_member:write", () => ({
		level: 8,
	})),
	members("DELETE", "/:user__uuid", "organization_member:write"),
	// Plugins by family
	...["/pipeline_destinations", "/pipeline_frontend_apps"].flatMap((family) => {
		const plugins = route(`/api/organizations/:organization_id${family}`);
		return [...crud(plugins, "plugin", [NEW, RENAMED]), ...alsoPlugins(plugins)];
	}),
	// Import apps
	imports("GET", "", "plugin:read"),
	imports("POST", "", "plugin:write", NEW),
	// Plugin configs
	...crud(configs, "plugin", [({ destination }) => ({ plugin: destination, order: 1 }), RENAMED]),
	configs("GET", "/:id/activity", "plugin:read"),
	configs("GET", "/:id/frontend", "plugin:read"),
	configs("POST", "/:id/job", "plugin:write", () => ({ job: { type: "go" } })),
	{ ...configs("POST", "/:id/migrate", "plugin:write"), fails: 400 },
	configs("GET", "/:plugin_config_id/logs", "plugin:read"),
	configs("PATCH", "/rearrange", "plugin:write", () => ({ orders: {} })),
];

/** Further routes. */
const added: Route[] = [
	...exporting(exportsOfProject),
	...[exportsOfOrganization, exportsOfProject].flatMap(alsoExports),
	imports("GET", "/:id", "plugin:read"),
	imports("PATCH", "/:id", "plugin:write", RENAMED),
	imports("DELETE", "/:id", "plugin:write"),
	...alsoPlugins(imports),
	organizations("GET", "/:organization_id/plugins", "plugin:read"),
	configs("GET", "/:id/frontend.js", "plugin:read"),
	organizations("GET", "/:organization_id/activity_log", "activity_log:read"),
	...crud(auditStreams, "audit_stream", [
		() => ({ name: "New", destination: { type: "R2", config: { prefix: "audit" } } }),
		RENAMED,
	]),
	auditStreams("POST", "/:id/test", "audit_stream:write"),
	organizations("GET", "/:organization_id/notifications", "organization:read"),
	organizations("PATCH", "/:organization_id/notifications", "organization:write", ({ owner }) => ({
		subscriptions: [{ type: "plugin_job.failed", recipients: [owner.uuid] }],
	})),
	...crud(webhooks, "webhook", [
		() => ({ url: "https://192.0.2.1/hook", enabled: false }),
		() => ({ description: "Changed" }),
	]),
	webhooks("POST", "/:id/test", "webhook:write"),
	webhooks("POST", "/:id/roll", "webhook:write"),
	webhooks("POST", "/:id/replay", "webhook:write", () => ({ since: "2026-01-01T00:00:00Z" })),
	webhooks("GET", "/:id/deliveries", "webhook:read"),
	webhooks("POST", "/:id/deliveries/:delivery_id/replay", "webhook:write"),
	organizations("GET", "/:organization_id/events", "activity_log:read"),
	...[projects, route("/api/organizations/:organization_id/projects")].flatMap((projects) =>
		crud(projects, "project", [NEW, RENAMED]),
	),
	projects("GET", "/:project_id/members", "project:read"),
	projects("POST", "/:project_id/members", "project:write", ({ owner }) => ({
		user_uuid: owner.uuid,
		level: 8,
	})),
	projects("DELETE", "/:project_id/members/:user_uuid", "project:write"),
	projects("GET", "/:project_id/activity_log", "activity_log:read"),
	projects("POST", "/:project_id/events", "project:write", () => [
		{ event: "seen", distinct_id: "someone" },
	]),
	route("/api/users")("GET", "/:uuid", "user:read"),
	route("/api/users")("PATCH", "/:uuid", "user:write", () => ({
		first_name: "Renamed",
	})),
	sessions("GET", "", "user:read"),
	sessions("POST", "/end_others", "user:write"),
	sessions("DELETE", "/:id", "user:write"),
	route("/api/users/:uuid/oauth_grants")("GET", "", "user:read"),
	route("/api/users/:uuid/oauth_grants")("DELETE", "/:id", "user:write"),
	route("/api/users/:uuid/identities")("GET", "", "user:read"),
	route("/api/users/:uuid/identities")("DELETE", "/:id", "user:write"),
	members("GET", "/:user__uuid/identities", "organization_member:read"),
	members("DELETE", "/:user__uuid/identities/:id", "organization_member:write"),
	{ ...signInTest("POST", "", "organization:write", () => ({ method: "oidc" })), fails: 400 },
	{ ...signInTest("POST", "/complete", "organization:write", () => ({ token: "x" })), fails: 400 },
	twoFactor("GET", "", "user:read"),
	// A user with passkeys has to prove one of their factors.
	{ ...twoFactor("POST", "/begin", "user:write"), fails: 400 },
	...["/confirm", "/disable", "/recovery_codes"].map((path) => ({
		...twoFactor("POST", path, "user:write", () => ({ code: "000000" })),
		fails: 400,
	})),
	passkeys("GET", "", "user:read"),
	{ ...passkeys("POST", "/begin", "user:write"), fails: 403 },
	{
		...passkeys("POST", "", "user:write", () => ({
			name: "New",
			credential: { id: "x", response: { clientDataJSON: "x", attestationObject: "x" } },
		})),
		fails: 403,
	},
	passkeys("POST", "/challenge", "user:write"),
	passkeys("GET", "/:id", "user:read"),
	passkeys("PATCH", "/:id", "user:write", RENAMED),
	{ ...passkeys("POST", "/:id/remove", "user:write", () => ({ code: "lost" })), fails: 400 },
	...keeping(keys, "personal_api_key"),
	{
		...appRequests("POST", "", "personal_api_key:write", () => ({ ...APP_REQUEST, ...SCOPES })),
		fails: 400,
	},
	{ ...appRequests("POST", "/preview", "personal_api_key:write", () => APP_REQUEST), fails: 400 },
	...crud(clients, "organization", [
		() => ({ name: "New", redirect_uris: ["https://notes.example/callback"] }),
		RENAMED,
	]),
	{
		...deviceRequests("POST", "", "personal_api_key:write", () => ({ ...USER_CODE, ...SCOPES })),
		fails: 400,
	},
	...["/preview", "/deny"].map((path) => ({
		...deviceRequests("POST", path, "personal_api_key:write", () => USER_CODE),
		fails: 400,
	})),
	grants("GET", "", "organization_member:read"),
	grants("DELETE", "/:id", "organization_member:write"),
	...crud(accounts, "organization_member", [
		({ project }) => ({ name: "New", level: 8, projects: [project] }),
		({ project }) => ({ name: "Renamed", level: 8, projects: [project] }),
	]),
	...keeping(accountKeys, "organization_member"),
	...crud(trustedIssuers, "organization_member", [
		() => ({
			name: "New",
			issuer: "https://127.0.0.1:9",
			subject: "repo:owner/repository:*",
			scopes: ["organization_member:read"],
		}),
		RENAMED,
	]),
	scim("GET", "/tokens", "organization:read"),
	// Only verified domains get one.
	{ ...scim("POST", "/tokens", "organization:write"), fails: 400 },
	scim("DELETE", "/tokens/:token_id", "organization:write"),
	scim("GET", "/groups", "organization:read"),
	scim("PATCH", "/groups/:group_id", "organization:write", () => ({ level: 8 })),
	scim("GET", "/requests", "organization:read"),
	route("/api/sign_in")("POST", "", null, () => ({ email: "nobody@tenantry.test" })),
	route("/api/sign_in")("POST", "/two_factor", null, () => ({ token: "x" })),
	route("/api/sign_in")("GET", "/methods", null),
	route("/sso")("GET", "/oidc/:domain_id/start", null),
	route("/sso")("GET", "/oidc/:domain_id/callback", null),
	route("/sso")("GET", "/:provider/start", null),
	route("/sso")("GET", "/:provider/callback", null),
	route("/sso")("GET", "/finish", null),
	route("/api/sign_in")("POST", "/passkey/options", null, () => ({ token: "x" })),
	route("/api/sign_in")("POST", "/passkey", null, () => ({
		passkey: {
			id: "x",
			response: { clientDataJSON: "x", authenticatorData: "x", signature: "x" },
		},
	})),
	route("/sso/saml/:domain_id")("GET", "/metadata", null),
	route("/sso/saml/:domain_id")("GET", "/start", null),
	route("/sso/saml/:domain_id")("POST", "/acs", null),
	route("/api/sign_in")("POST", "/complete", null, () => ({ token: "x" })),
	route("/api/sign_in")("POST", "/preview", null, () => ({ token: "x" })),
	route("/api/sign_in")("POST", "/key", null),
	route("/api/sign_in")("POST", "/end", null),
	route("/api/invites")("GET", "/:token", null),
	route("/api/invites")("POST", "/:token/accept", null, () => ({})),
	route("/invites")("GET", "/:token", null),
	route("/invites")("POST", "/:token", null),
	route("")("GET", "/openapi.json", null),
	route("")("GET", "/", null),
	route("")("GET", "/healthz", null),
];

export const routes = [...published, ...added];

/** The routes that need a key. */
export const guarded = routes.flatMap(({ scope, ...rest }) => (scope ? [{ ...rest, scope }] : []));

export type Guarded = (typeof guarded)[number];

/** Returns the routes with these titles, like "GET /api/projects". */
export const routesOf = (...titles: string[]) =>
	titles.map((title) => {
		const route = guarded.find(({ method, path }) => `${method} ${path}` === title);
		if (!route) throw new Error(`There is no route ${title}.`);
		return route;
	});

/**
 * A read and a write of each kind of tenant (src/access/middleware.ts). What the middleware does is
 * tested with these, since it is the same for all routes (test/mount.test.ts).
 */
export const sample = routesOf(
	"GET /api/users/:uuid",
	"POST /api/personal_api_keys",
	"GET /api/organizations",
	"PATCH /api/organizations/:id",
	"GET /api/organizations/:organization_id/members",
	"DELETE /api/organizations/:organization_id/domains/:id",
	"GET /api/organizations/:organization_id/projects/:id",
	"POST /api/organizations/:organization_id/projects",
	"GET /api/projects/:id",
	"DELETE /api/projects/:id",
	"GET /api/projects/:project_id/batch_exports",
	"POST /api/projects/:project_id/plugin_configs",
);

/** Returns the id for `:id` in a path. */
export function subject(path: string, world: World) {
	const ids: Record<string, string | number> = {
		"/keys": world.account_key,
		"/trusted_issuers": world.trusted_issuer,
		"/service_accounts": world.account,
		"/pipeline_destinations": world.destination,
		"/pipeline_frontend_apps": world.frontend,
		"/pipeline_import_apps": world.importer,
		"/plugin_configs": world.config,
		"/audit_streams": world.audit_stream,
		"/batch_exports": world.batch_export,
		"/members/:user__uuid/identities": `oidc:${world.domain}`,
		"/identities": "github",
		"/domains": world.domain,
		"/oauth_clients": world.client,
		"/webhooks": world.webhook,
		"/invites": world.invite,
		"/passkeys": world.passkey,
		"/sessions": world.session,
		"/oauth_grants": world.oauth_grant,
		"/personal_api_keys": world.key_id,
		"/projects": world.project,
		"/api/organizations": world.id,
	};
	const [, id] = Object.entries(ids).find(([part]) => path.includes(part)) ?? [];
	return String(id);
}

/** Returns the path of a route with the ids of this world. */
export const address = (path: string, world: World) =>
	path
		.replace(":organization_id", world.id)
		.replace(":service_account_id", world.account)
		.replace(":project_id", String(world.project))
		.replace(":user__uuid/identities", `${world.owner.uuid}/identities`)
		.replace(":user__uuid", world.member)
		.replace(":user_uuid", world.member)
		.replace(":run_id/retry", `${world.ended_run}/retry`)
		.replace(":run_id", world.run)
		.replace(":backfill_id", world.backfill)
		.replace(":delivery_id", world.delivery)
		.replace(":domain_id", world.domain)
		.replace(":provider", "github")
		.replace(":token_id", world.scim_token)
		.replace(":group_id", world.scim_group)
		.replace(":token", "x".repeat(43))
		.replace(":uuid", "@me")
		.replace(/:id|:plugin_config_id/, subject(path, world));
