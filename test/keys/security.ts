import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeAll, expect, test } from "vitest";
import { hasScope, objects } from "../../src/access/scopes.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { digest } from "../../src/keys/keys.ts";
import { forbidden } from "../support/errors.ts";
import { address, type Guarded, type World } from "../support/routes.ts";
import { call, db, furnished, keyFor, world } from "../support/world.ts";

/**
 * Sends a request to the route. Each has its own address, so that none is throttled for another's
 * failures.
 */
export const ask = (
	{ method, path, body }: Guarded,
	at: World,
	key?: string,
	{ headers, ...options }: { env?: Partial<Env>; headers?: Record<string, string> } = {},
) =>
	call(method, address(path, at), {
		key,
		...(body && { body: body(at) }),
		...options,
		headers: { "cf-connecting-ip": v7(), ...headers },
	});

/** Changes the row of a key in D1, but neither KV nor the isolate's cache. */
export const changeKey = async (
	key: string,
	values: Partial<typeof personalApiKeys.$inferInsert>,
) =>
	db
		.update(personalApiKeys)
		.set(values)
		.where(eq(personalApiKeys.hash, await digest(key)));

export const isOfTenant = ({ path }: Guarded) => /^\/api\/(organizations|projects)\/:/.test(path);

const all = objects.flatMap((object) => [`${object}:read`, `${object}:write`]);

/** Tests that each route asks for a key, its scope and access to the tenant. */
export function testGuards(routes: Guarded[]) {
	/** No request changes anything, so all share a tenant. */
	let home: World;
	let stranger: Awaited<ReturnType<typeof world>>;

	/** Keys of the owner that are restricted to another organization, and to another project. */
	let ofOrganization: string;
	let ofProject: string;

	const narrowed = new Map<string, string>();

	/** Returns a key of the owner that has all scopes but this one in D1, and all in KV. */
	async function keyWithout(scope: string) {
		const key = narrowed.get(scope) ?? (await keyFor(home.owner.id));
		const others = all.filter((other) => !hasScope([other], scope));
		await changeKey(key, { scopes: others });
		narrowed.set(scope, key);
		return key;
	}

	beforeAll(async () => {
		home = await furnished();
		stranger = await world();
		ofOrganization = await keyFor(home.owner.id, { scoped_organizations: [v7()] });
		ofProject = await keyFor(home.owner.id, { scoped_projects: [2 ** 30] });
	});

	test.each(routes)(
		"$method $path requires a key with its scope, and none in the cookie for pages of other sites",
		async (route) => {
			const unauthenticated = await ask(route, home);
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
				expect((await ask(route, home, undefined, { headers })).status).toBe(401);
			}
			expect(await ask(route, home, await keyWithout(route.scope))).toMatchObject(
				forbidden(`API key missing required scope '${route.scope}'`),
			);
		},
	);

	test.each(routes.filter(isOfTenant))(
		"$method $path requires access to its tenant, and a stranger learns nothing else",
		async (route) => {
			expect(await ask(route, home, ofOrganization)).toMatchObject(
				forbidden(`API key does not have access to the requested organization: ID ${home.id}.`),
			);
			expect(await ask(route, home, ofProject)).toMatchObject(
				forbidden(
					route.path.startsWith("/api/projects")
						? `API key does not have access to the requested project: ID ${home.project}.`
						: "API keys with scoped projects are only supported on project-based endpoints.",
				),
			);
			const response = await ask(route, home, stranger.key);
			expect(response.headers.get("server-timing")).toBe('d1_trips;desc="1"');
			const isBelow = route.path.includes("_id/");
			expect([response.status, response.body.code]).toEqual(
				isBelow ? [403, "permission_denied"] : [404, "not_found"],
			);
		},
	);
}
