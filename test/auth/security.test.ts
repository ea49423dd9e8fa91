import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { objects } from "../../src/access/scopes.ts";
import { digest, mint } from "../../src/auth/keys.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { users } from "../../src/db/schema/users.ts";
import { forbidden } from "../support/errors.ts";
import { address, guarded, type Route, type World } from "../support/routes.ts";
import { call, cost, db, furnished, keyFor, person, world } from "../support/world.ts";

const all = objects.flatMap((object) => [`${object}:read`, `${object}:write`]);

const invalid = {
	status: 401,
	body: {
		type: "authentication_error",
		code: "authentication_failed",
		detail: "Personal API key found in request Authorization header is invalid.",
		attr: null,
	},
};

/** No request of this file changes anything, so all share a tenant. */
let home: World;
let stranger: Awaited<ReturnType<typeof world>>;

/** Keys of the owner that are restricted to another organization, and to another project. */
let ofOrganization: string;
let ofProject: string;

beforeAll(async () => {
	home = await furnished();
	stranger = await world();
	ofOrganization = await keyFor(home.owner.id, { scoped_organizations: [v7()] });
	ofProject = await keyFor(home.owner.id, { scoped_projects: [2 ** 30] });
});

/**
 * Sends a request to the route. Each has its own address, so that none is throttled for another's
 * failures.
 */
const ask = (
	{ method, path, body }: Route,
	key?: string,
	{
		env: other,
		at = home,
		headers,
	}: { env?: Partial<Env>; at?: World; headers?: Record<string, string> } = {},
) =>
	call(method, address(path, at), {
		key,
		...(other && { env: other }),
		...(body && { body: body(at) }),
		headers: { "cf-connecting-ip": v7(), ...headers },
	});

/** Changes the row of a key in D1, but neither KV nor the isolate's cache. */
const change = async (key: string, values: Partial<typeof personalApiKeys.$inferInsert>) =>
	db
		.update(personalApiKeys)
		.set(values)
		.where(eq(personalApiKeys.hash, await digest(key)));

const narrowed = new Map<string, string>();

/** Returns a key of the owner that has all scopes but this one in D1, and all in KV. */
async function keyWithout(scope: string) {
	const key = narrowed.get(scope) ?? (await keyFor(home.owner.id));
	const others = all.filter(
		(other) => other !== scope && other !== scope.replace(":read", ":write"),
	);
	await change(key, { scopes: others });
	narrowed.set(scope, key);
	return key;
}

const titled = (routes: typeof guarded) =>
	routes.map((route) => [`${route.method} ${route.path}`, route] as const);

const isOfTenant = ({ path }: Route) => /^\/api\/(organizations|projects)\/:/.test(path);

// Authentication and the guard decide the same for all routes. So each route is only asked whether
// they run, and with which scope and tenant; the other cases below are for a few routes.
describe.each(titled(guarded))("%s", (_, route) => {
	test("requires a key with its scope, and none in the cookie for pages of other sites", async () => {
		const unauthenticated = await ask(route);
		expect(unauthenticated).toMatchObject({
			status: 401,
			body: {
				code: "not_authenticated",
				detail: "Authentication credentials were not provided.",
			},
		});
		const challenge = unauthenticated.headers.get("www-authenticate");
		expect(challenge).toMatch(/^Bearer resource_metadata=/);
		expect(challenge).toContain(`, scope="${route.scope}"`);
		for (const site of [{ "sec-fetch-site": "same-site" }, { origin: "https://evil.test" }]) {
			const headers = { cookie: `__Host-tenantry=${home.key}`, ...site };
			expect((await ask(route, undefined, { headers })).status).toBe(401);
		}
		expect(await ask(route, await keyWithout(route.scope))).toMatchObject(
			forbidden(`API key missing required scope '${route.scope}'`),
		);
	});

	if (!isOfTenant(route)) return;
	test("requires access to the tenant in its path, and a stranger learns nothing else", async () => {
		expect(await ask(route, ofOrganization)).toMatchObject(
			forbidden(`API key does not have access to the requested organization: ID ${home.id}.`),
		);
		expect(await ask(route, ofProject)).toMatchObject(
			forbidden(
				route.path.startsWith("/api/projects")
					? `API key does not have access to the requested project: ID ${home.project}.`
					: "API keys with scoped projects are only supported on project-based endpoints.",
			),
		);
		const response = await ask(route, stranger.key);
		expect(response.headers.get("server-timing")).toBe('d1_trips;desc="1"');
		const isBelow = route.path.includes("_id/");
		expect([response.status, response.body.code]).toEqual(
			isBelow ? [403, "permission_denied"] : [404, "not_found"],
		);
	});
});

/** A read and a write of each kind of tenant (src/access/middleware.ts). */
const EXAMPLES = [
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
];

const examples = titled(guarded).filter(([title]) => EXAMPLES.includes(title));

test("each example is a route", () => {
	expect(examples).toHaveLength(EXAMPLES.length);
});

describe.each(examples)("%s rejects", (_, route) => {
	test("a bad checksum without a query to KV or D1", async () => {
		const get = vi.fn();
		const KEYS: KVNamespace = Object.assign(Object.create(env.KEYS), { get });
		const key = `${home.key.slice(0, -1)}${home.key.endsWith("0") ? "1" : "0"}`;
		const response = await ask(route, key, { env: { KEYS } });
		expect(response).toMatchObject(invalid);
		expect(cost(response).trips).toBe(0);
		expect(get).not.toHaveBeenCalled();
	});

	test("a key that was never created", async () => {
		expect(await ask(route, mint())).toMatchObject(invalid);
	});

	test("an expired key", async () => {
		const key = await keyFor(home.owner.id, {
			expires_at: new Date(Date.now() - 1).toISOString(),
		});
		expect(await ask(route, key)).toMatchObject(invalid);
	});

	describe("although the isolate and KV still have it,", () => {
		const cachedKey = async (user_id: number) => {
			const key = await keyFor(user_id);
			await call("GET", "/api/users/@me", { key });
			return key;
		};

		test("a revoked key", async () => {
			const key = await cachedKey(home.owner.id);
			await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(key)));
			expect(await ask(route, key)).toMatchObject(invalid);
		});

		test("a key that has expired", async () => {
			const key = await cachedKey(home.owner.id);
			await change(key, { expires_at: new Date(Date.now() - 1).toISOString() });
			expect(await ask(route, key)).toMatchObject(invalid);
		});

		test("the key of a deactivated user", async () => {
			const { id } = await person();
			const key = await cachedKey(id);
			await db.update(users).set({ is_active: false }).where(eq(users.id, id));
			expect(await ask(route, key)).toMatchObject(invalid);
		});

		test("a key that lost the scope", async () => {
			const key = await cachedKey(home.owner.id);
			await change(key, { scopes: [] });
			expect((await ask(route, key)).status).toBe(403);
		});
	});

	if (!isOfTenant(route)) return;
	test("an id that doesn't exist with a 404", async () => {
		const lost = { ...home, id: v7(), project: 2 ** 30 };
		const response = await ask(route, home.key, { at: lost });
		expect(response.status).toBe(404);
		if (route.path.includes(":organization_id/") && !route.path.includes("/projects/:id"))
			expect(response.body.detail).toBe("Organization not found.");
		if (route.path.startsWith("/api/projects"))
			expect(response.body.detail).toBe("Project not found.");
	});
});
