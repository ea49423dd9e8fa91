import type { Context, ExecutionContext, Hono } from "hono";
import type { MergeSchemaPath, Schema } from "hono/types";
import { getPathNoStrict } from "hono/utils/url";
import {
	asCaller,
	inOrganization,
	inProject,
	onOrganizations,
	onProjects,
	onProjectsOfOrganization,
} from "./access/middleware.ts";
import { caller } from "./accounts/personal_api_keys/owner.ts";
import type { App } from "./env.ts";
import type { AsDocumented, AssertNone, Differences } from "./http/answers.ts";
import { type Family, mount, type PublicRoutes, type Row } from "./mount.ts";

const accountKeys = async () => (await import("./accounts/service_accounts/keys.ts")).default;
const activityLog = async () => (await import("./activity/activity_log/routes.ts")).default;
const allPlugins = async () => (await import("./plugins/plugins/routes.ts")).allPlugins;
const apiKeys = async () => (await import("./accounts/personal_api_keys/routes.ts")).default;
const auditStreams = async () => (await import("./activity/audit_streams/routes.ts")).default;
const batchExports = async () => (await import("./exports/batch_exports/routes.ts")).default;
const destinations = async () => (await import("./plugins/plugins/routes.ts")).destinations();
const domains = async () => (await import("./accounts/domains/routes.ts")).default;
const events = async () => (await import("./exports/ingestion/routes.ts")).default;
const feed = async () => (await import("./activity/events/routes.ts")).default;
const frontendApps = async () => (await import("./plugins/plugins/routes.ts")).frontendApps();
const importApps = async () => (await import("./plugins/plugins/routes.ts")).importApps();
const invites = async () => (await import("./accounts/invites/routes.ts")).default;
const members = async () => (await import("./accounts/members/routes.ts")).default;
const notifications = async () => (await import("./activity/notifications/routes.ts")).default;
const organizations = async () => (await import("./accounts/organizations/routes.ts")).default;
const pluginConfigs = async () => (await import("./plugins/plugin_configs/routes.ts")).default;
const projectMembers = async () => (await import("./accounts/project_members/routes.ts")).default;
const projects = async () => (await import("./accounts/projects/routes.ts")).default;
const serviceAccounts = async () => (await import("./accounts/service_accounts/routes.ts")).default;
const twoFactor = async () => (await import("./accounts/two_factor/routes.ts")).default;
const users = async () => (await import("./accounts/users/routes.ts")).default;
const webhooks = async () => (await import("./activity/webhooks/routes.ts")).default;

const acceptance = async () => (await import("./accounts/invites/routes.ts")).acceptance;
const invitePage = async () => (await import("./accounts/invites/page.ts")).default;
const signIn = async () => (await import("./accounts/sign_in/routes.ts")).default;
const service = async () => (await import("./docs/service.ts")).default;

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
	[`${SERVICE_ACCOUNT}/keys`, "organization_member", inOrganization, accountKeys],
	[`${ORGANIZATION}/projects`, "project", onProjectsOfOrganization, projects],
	[`${ORGANIZATION}/activity_log`, "activity_log", inOrganization, activityLog],
	[`${ORGANIZATION}/events`, "activity_log", inOrganization, feed],
	[`${ORGANIZATION}/audit_streams`, "audit_stream", inOrganization, auditStreams],
	[`${ORGANIZATION}/notifications`, "organization", inOrganization, notifications],
	[`${ORGANIZATION}/webhooks`, "webhook", inOrganization, webhooks],
	[`${ORGANIZATION}/plugins`, "plugin", inOrganization, allPlugins],
	[`${ORGANIZATION}/pipeline_destinations`, "plugin", inOrganization, destinations],
	[`${ORGANIZATION}/pipeline_frontend_apps`, "plugin", inOrganization, frontendApps],
	[`${ORGANIZATION}/pipeline_import_apps`, "plugin", inOrganization, importApps],
	["/api/projects", "project", onProjects, projects],
	[`${PROJECT}/batch_exports`, "batch_export", inProject, batchExports],
	[`${PROJECT}/plugin_configs`, "plugin", inProject, pluginConfigs],
	[`${PROJECT}/events`, "project", inProject, events],
	[`${PROJECT}/members`, "project", inProject, projectMembers],
	[`${PROJECT}/activity_log`, "activity_log", inProject, activityLog],
	["/api/users", "user", asCaller, users],
	["/api/users/:uuid/two_factor", "user", asCaller, twoFactor],
	["/api/personal_api_keys", "personal_api_key", asCaller, async () => (await apiKeys())(caller)],
] as const satisfies Family[];

/** Routes that need no key. */
export const publicRoutes = [
	["/", service],
	["/api/invites", acceptance],
	["/api/sign_in", signIn],
	["/invites", invitePage],
] as const satisfies PublicRoutes[];

/** The routes that a row loads. */
export type RoutesOf<Row> = Row extends readonly [...unknown[], () => Promise<infer R>] ? R : never;

/** Makes the compiler compare the responses of all routes with their documented schemas. */
export type WrongAnswers = AssertNone<
	Differences<RoutesOf<(typeof families)[number] | (typeof publicRoutes)[number]>>
>;

/** The routes of one row of the tables above, mounted at the row's path. */
type Mounted<Row> = Row extends readonly [infer Path extends string, ...unknown[]]
	? RoutesOf<Row> extends Hono<App, infer S, string>
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

/** All rows with their path patterns, longest path first. */
const rows = [...publicRoutes.slice(1), ...families]
	.map((row: Row) => ({
		row,
		pattern: new RegExp(`^${row[0].replace(/:\w+/g, "[^/]+")}(?:/|$)`),
		depth: row[0].split("/").length,
	}))
	.sort((a, b) => b.depth - a.depth);

/** Returns the row with the longest path that contains this path, else that of `/`. */
const rowFor = (path: string): Row =>
	rows.find(({ pattern }) => pattern.test(path))?.row ?? publicRoutes[0];

/** The apps of rows in use. Not promises: that of a cancelled request never settles. */
const apps = new Map<Row, Awaited<ReturnType<typeof mount>>>();

/** Returns the app of a row, and creates it if needed. */
export async function load(row: Row) {
	const app = apps.get(row) ?? (await mount(row, api));
	apps.set(row, app);
	return app;
}

type Fetch = (request: Request, env: Env, context: ExecutionContext) => Promise<Response>;

const fetch: Fetch = async (request, env, context) => {
	const row = rowFor(getPathNoStrict(request));
	const app = apps.get(row) ?? (await load(row));
	return app.fetch(request, env, context);
};

/** Sends a request to the API without leaving this worker. */
const api = (request: Request, { env, executionCtx }: Context<App>) =>
	fetch(request, env, executionCtx);

/** The whole service. The routes of a family are loaded on its first request. */
export const app = { fetch };
