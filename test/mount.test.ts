import type { Handler, MiddlewareHandler } from "hono";
import { expect, test } from "vitest";
import { isLookedUp } from "../src/access/controlled_objects.ts";
import { safeRetries } from "../src/access/idempotency.ts";
import {
	asCaller,
	endPreview,
	inOrganization,
	inProject,
	onOrganizations,
	onProjects,
	onProjectsOfOrganization,
} from "../src/access/middleware.ts";
import { families, publicRoutes } from "../src/app.ts";
import type { App } from "../src/env.ts";
import { isRead } from "../src/http/methods.ts";
import { VERSIONS } from "../src/http/versions.ts";
import { authenticate } from "../src/keys/authenticate.ts";
import { createApp, loadRoutes, mount } from "../src/mount.ts";
import { type Route, routes } from "./support/routes.ts";

/*
 * The middleware of every operation, read from the mounted app without a request. What the
 * middleware does is tested with a few operations (test/keys/security.test.ts and others).
 */

/** The tenant of the paths with a beginning. The first that matches counts. */
const TENANTS: [beginning: string, tenant: MiddlewareHandler<App>][] = [
	["/api/organizations/:organization_id/projects", onProjectsOfOrganization],
	["/api/organizations/:organization_id", inOrganization],
	["/api/organizations", onOrganizations],
	["/api/projects/:project_id", inProject],
	["/api/projects", onProjects],
	["/api", asCaller],
];

const app = createApp(async () => new Response());
const ofAllRequests = app.routes.length;
for (const row of [...families, ...publicRoutes]) mount(app, row, await loadRoutes(row));
const mounted = new Set<Handler>(app.routes.slice(ofAllRequests).map(({ handler }) => handler));

/** Names the middleware of `mount.ts`, with its arguments; `own` is a handler of the route. */
function nameOf(handler: Handler) {
	const [tenant] = TENANTS.find((row) => row[1] === handler) ?? [];
	if (tenant) return `tenant of ${tenant}`;
	if (handler === authenticate) return "authenticate";
	if (handler === safeRetries) return "safeRetries";
	if (handler === endPreview) return "endPreview";
	if ("versions" in handler) return handler.versions === VERSIONS ? "chooseVersion" : "own";
	if ("allowed" in handler) return `allowOnly ${[handler.allowed].flat().sort()}`;
	if ("object" in handler) return `scope of ${handler.object}`;
	if ("family" in handler) return "controlled";
	return "conditionOf" in handler ? "conditional" : "own";
}

/**
 * Names the handlers that Hono runs for an operation, in order, after those of all requests. `/bulk`
 * also matches `/:id`, whose handlers come later and don't run.
 */
function chainOf(method: string, path: string) {
	const [matching] = app.router.match(method, path.replaceAll(/:\w+/g, "1"));
	const names = matching.flatMap(([[handler]]) => (mounted.has(handler) ? nameOf(handler) : []));
	const next = names.findIndex(
		(name, i) => i > 0 && name.split(" ")[0] === names[0]?.split(" ")[0],
	);
	return next < 0 ? names : names.slice(0, next);
}

/** The name of the middleware that allows the methods of a path. */
function allowedAt(path: string) {
	const methods = routes.filter((route) => route.path === path).map(({ method }) => method);
	const all = methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
	return `allowOnly ${[...new Set(all)].sort()}`;
}

/** The names of the middleware that a route must have before its own handlers. */
function guardsOf({ path, scope }: Route) {
	const allowed = allowedAt(path);
	if (scope === null) return [allowed, ...(path.startsWith("/api/") ? ["chooseVersion"] : [])];
	const [tenant] = TENANTS.find(([beginning]) => path.startsWith(beginning)) ?? [];
	return [
		...[`scope of ${scope.split(":")[0]}`, "controlled", "authenticate", "chooseVersion", allowed],
		...["safeRetries", "conditional", `tenant of ${tenant}`],
	];
}

test.each(routes)("$method $path runs behind its guard", (route) => {
	const guards = guardsOf(route);
	const chain = chainOf(route.method, route.path);
	const end = isRead(route.method) ? ["own"] : ["endPreview", "own"];
	expect([chain.slice(0, guards.length), chain.slice(-end.length)]).toEqual([guards, end]);
	expect(chain.length).toBeGreaterThanOrEqual(guards.length + end.length);
});

test("the guard knows the object of every path with one that access controls can be about", () => {
	const unknown = routes.filter((route) => {
		const rows = families.filter(({ path }) => `${route.path}/`.startsWith(`${path}/`));
		const [row] = rows.toSorted((a, b) => b.path.length - a.path.length);
		if (!row?.access.resource || !isLookedUp(row.access.resource)) return false;
		const words = route.path.slice(row.path.length).split("/");
		const { parameter = "id" } = row.access;
		const isKnown = row.path.includes(`/:${parameter}`) || words.includes(`:${parameter}`);
		return words.some((word) => word.startsWith(":")) && !isKnown && !words.includes(":id");
	});
	expect(unknown).toEqual([]);
});
