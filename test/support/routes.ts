import { operations } from "./contract.ts";
import type { furnished } from "./world.ts";

/** A tenant, with the ids for the paths and bodies of the routes. */
export type World = Awaited<ReturnType<typeof furnished>>;

type Body = (world: World) => unknown;

export type Route = {
	method: string;
	path: string;
	/** null: the route needs no key. */
	scope: string | null;
	/** The level and the access that it requires. */
	access: NonNullable<(typeof operations)[number]["operation"]["x-access"]>;
	/** Returns a valid body. */
	body?: Body;
	/** The status of a route that always fails. */
	fails?: number;
};

const NEW = () => ({ name: "New" });
const RENAMED = () => ({ name: "Renamed" });
const RELABELED = () => ({ label: "Renamed" });
const NO_SOURCE = () => ({ "index.js": "" });
const TOKEN = () => ({ token: "x" });
const CODE = () => ({ code: "000000" });

const NOWHERE = { destination: { type: "NoOp", config: {} } };
const NEW_EXPORT = () => ({ name: "New", interval: "hour", ...NOWHERE });

const ONCE = () => ({ start_at: "-1h" });

const newInvite = () => ({ target_email: `${crypto.randomUUID()}@tenantry.test` });

/** A code that no device shows. */
const USER_CODE = { user_code: "BCDF-GHJK" };

/** The scopes that a key with only the route's scope may still grant. */
const SCOPES = { scopes: ["personal_api_key:read"] };

/** A request of an app that doesn't exist. */
const APP_REQUEST = {
	response_type: "code",
	client_id: "x",
	redirect_uri: "x",
	code_challenge: "x".repeat(43),
	code_challenge_method: "S256",
};

const TO_ITSELF: Body = ({ batch_export }) => ({ to: batch_export });

/** What a family adds for the shared tests: a valid body of each operation that needs one, by id. */
const BODIES: Record<string, Body> = {
	createOrganization: NEW,
	updateOrganization: RENAMED,
	createBatchExport: NEW_EXPORT,
	runBatchExportOnce: ONCE,
	updateBatchExport: RENAMED,
	testNewBatchExport: () => NOWHERE,
	handOverBatchExport: TO_ITSELF,
	createProjectBatchExport: NEW_EXPORT,
	runProjectBatchExportOnce: ONCE,
	updateProjectBatchExport: RENAMED,
	testNewProjectBatchExport: () => NOWHERE,
	handOverProjectBatchExport: TO_ITSELF,
	createDomain: () => ({ domain: `${crypto.randomUUID()}.example.com` }),
	updateDomain: () => ({ saml_entity_id: "entity" }),
	createSignInTest: () => ({ method: "oidc" }),
	completeSignInTest: TOKEN,
	updateScimGroup: () => ({ level: 8 }),
	createInvite: newInvite,
	createInvites: () => [newInvite(), newInvite()],
	acceptInvite: () => ({}),
	updateMember: () => ({ level: 8 }),
	createOauthClient: () => ({ name: "New", redirect_uris: ["https://notes.example/callback"] }),
	updateOauthClient: RENAMED,
	createRole: NEW,
	updateRole: RENAMED,
	addRoleMember: ({ owner }) => ({ member: owner.uuid }),
	createAccessControl: () => ({ resource: "plugin", access_level: "viewer" }),
	updateAccessControl: () => ({ access_level: "editor" }),
	createServiceAccount: ({ project }) => ({ name: "New", level: 8, projects: [project] }),
	updateServiceAccount: ({ project }) => ({ name: "Renamed", level: 8, projects: [project] }),
	createServiceAccountKey: () => ({ label: "New", scopes: ["organization_member:read"] }),
	updateServiceAccountKey: RELABELED,
	createTrustedIssuer: () => ({
		name: "New",
		issuer: "https://127.0.0.1:9",
		subject: "repo:owner/repository:*",
		scopes: ["organization_member:read"],
	}),
	updateTrustedIssuer: RENAMED,
	createOrganizationProject: NEW,
	updateOrganizationProject: RENAMED,
	createProject: NEW,
	updateProject: RENAMED,
	updateProjectMember: () => ({ level: 8 }),
	addProjectMember: ({ owner }) => ({ user_uuid: owner.uuid, level: 8 }),
	createAuditStream: () => ({
		name: "New",
		destination: { type: "R2", config: { prefix: "audit" } },
	}),
	updateAuditStream: RENAMED,
	updateNotifications: ({ owner }) => ({
		subscriptions: [{ type: "plugin_job.failed", recipients: [owner.uuid] }],
	}),
	createWebhook: () => ({ url: "https://192.0.2.1/hook", enabled: false }),
	updateWebhook: () => ({ description: "Changed" }),
	replayWebhook: () => ({ since: "2026-01-01T00:00:00Z" }),
	createDestination: NEW,
	updateDestination: RENAMED,
	updateDestinationSource: NO_SOURCE,
	createFrontendApp: NEW,
	updateFrontendApp: RENAMED,
	updateFrontendAppSource: NO_SOURCE,
	createImportApp: NEW,
	updateImportApp: RENAMED,
	updateImportAppSource: NO_SOURCE,
	createPluginConfig: ({ destination }) => ({ plugin: destination, order: 1 }),
	updatePluginConfig: RENAMED,
	rearrangePluginConfigs: () => ({ orders: {} }),
	startPluginConfigJob: () => ({ job: { type: "go" } }),
	ingestEvents: () => [{ event: "seen", distinct_id: "someone" }],
	updateUser: () => ({ first_name: "Renamed" }),
	deleteUser: () => ({ email: "nobody@tenantry.test" }),
	resetMemberTwoFactor: CODE,
	confirmTwoFactor: CODE,
	disableTwoFactor: CODE,
	replaceTwoFactorCodes: CODE,
	createPasskey: () => ({
		name: "New",
		credential: { id: "x", response: { clientDataJSON: "x", attestationObject: "x" } },
	}),
	updatePasskey: RENAMED,
	removePasskey: () => ({ code: "lost" }),
	createPersonalApiKey: () => ({ label: "New", scopes: ["personal_api_key:read"] }),
	updatePersonalApiKey: RELABELED,
	previewAppRequest: () => APP_REQUEST,
	approveAppRequest: () => ({ ...APP_REQUEST, ...SCOPES }),
	previewDeviceRequest: () => USER_CODE,
	approveDeviceRequest: () => ({ ...USER_CODE, ...SCOPES }),
	denyDeviceRequest: () => USER_CODE,
	requestSignIn: () => ({ email: "nobody@tenantry.test" }),
	previewSignIn: TOKEN,
	beginSignInTwoFactor: TOKEN,
	beginSignInPasskey: TOKEN,
	enterSignIn: () => ({
		passkey: {
			id: "x",
			response: { clientDataJSON: "x", authenticatorData: "x", signature: "x" },
		},
	}),
	completeSignIn: TOKEN,
};

/** The operations that always fail with these bodies, with the status. */
const FAILS: Record<string, number> = {
	// An export can't continue itself.
	handOverBatchExport: 400,
	handOverProjectBatchExport: 400,
	createSignInTest: 400,
	completeSignInTest: 400,
	// Only verified domains get one.
	createScimToken: 400,
	migratePluginConfig: 400,
	// A user with passkeys has to prove one of their factors.
	beginTwoFactor: 400,
	confirmTwoFactor: 400,
	resetMemberTwoFactor: 400,
	disableTwoFactor: 400,
	replaceTwoFactorCodes: 400,
	// It isn't their address.
	deleteUser: 400,
	beginPasskey: 403,
	createPasskey: 403,
	removePasskey: 400,
	previewAppRequest: 400,
	approveAppRequest: 400,
	previewDeviceRequest: 400,
	approveDeviceRequest: 400,
	denyDeviceRequest: 400,
	// Nothing was deleted.
	restoreOrganizationProject: 404,
	restoreBatchExport: 404,
	restoreProjectBatchExport: 404,
	restoreWebhook: 404,
	restorePlugin: 404,
	restorePluginConfig: 404,
};

/** All routes, of which `docs/contract.txt` is the list to review. */
export const routes = operations.map(({ method, path, scopes, operation }): Route => {
	const { operationId: id, requestBody } = operation;
	const body = BODIES[id];
	const fails = FAILS[id];
	if (requestBody?.required && !body)
		throw new Error(`test/support/routes.ts lacks a valid body for ${id}.`);
	return {
		method,
		path: path.replace(/\{(\w+)\}/g, ":$1"),
		scope: scopes || null,
		access: operation["x-access"] ?? {},
		...(body && { body }),
		...(fails && { fails }),
	};
});

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
		"/members/:user__uuid/keys": world.member_key,
		"/keys": world.account_key,
		"/trusted_issuers": world.trusted_issuer,
		"/service_accounts": world.account,
		"/roles": world.role,
		"/access_controls": world.access_control,
		"/pipeline_destinations": world.destination,
		"/plugins": world.destination,
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
		.replace(/:user__uuid(?=\/identities)/, world.owner.uuid)
		.replace(":user__uuid", world.member)
		.replace(":user_uuid", world.member)
		.replace(":run_id/retry", `${world.ended_run}/retry`)
		.replace(":run_id", world.run)
		.replace(":name", world.file)
		.replace(":backfill_id", world.backfill)
		.replace(":delivery_id", world.delivery)
		.replace(":deleted_id", "00000000-0000-7000-8000-000000000000")
		.replace(":domain_id", world.domain)
		.replace(":provider", "github")
		.replace(":token_id", world.scim_token)
		.replace(":group_id", world.scim_group)
		.replace(":token", "x".repeat(43))
		.replace(":uuid", "@me")
		.replace(/:id|:plugin_config_id/, subject(path, world));
