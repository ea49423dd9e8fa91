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

const rejected = {
	status: 401,
	body: {
		type: "authentication_error",
		code: "authentication_failed",
		detail: "Personal API key found in request Authorization header is invalid.",
		attr: null,
	},
};

/**
 * Sends a request to the route. Each has its own address, so that none is throttled for another's
 * failures.
 */
const ask = ({ method, path, body }: Route, home: World, key?: string, other?: Partial<Env>) =>
	call(method, address(path, home), {
		key,
		...(other && { env: other }),
		...(body && { body: body(home) }),
		headers: { "cf-connecting-ip": v7() },
	});

describe.each(guarded.map((route) => [`${route.method} ${route.path}`, route] as const))(
	"%s",
	(_, route) => {
		let home: World;
		beforeAll(async () => {
			home = await furnished();
		});

		test("requires a key", async () => {
			const response = await ask(route, home);
			expect(response).toMatchObject({
				status: 401,
				body: {
					code: "not_authenticated",
					detail: "Authentication credentials were not provided.",
				},
			});
			expect(response.headers.get("www-authenticate")).toBe("Bearer");
		});

		test("rejects a bad checksum without a query to KV or D1", async () => {
			const get = vi.fn();
			const KEYS: KVNamespace = Object.assign(Object.create(env.KEYS), { get });
			const key = `${home.key.slice(0, -1)}${home.key.endsWith("0") ? "1" : "0"}`;
			const response = await ask(route, home, key, { KEYS });
			expect(response).toMatchObject(rejected);
			expect(cost(response).trips).toBe(0);
			expect(get).not.toHaveBeenCalled();
		});

		test("rejects a key that was never created", async () => {
			expect(await ask(route, home, mint())).toMatchObject(rejected);
		});

		test("rejects an expired key", async () => {
			const key = await keyFor(home.owner.id, {
				expires_at: new Date(Date.now() - 1).toISOString(),
			});
			expect(await ask(route, home, key)).toMatchObject(rejected);
		});

		test("rejects a revoked key that the isolate and KV still have", async () => {
			const key = await keyFor(home.owner.id);
			await call("GET", "/api/users/@me", { key });
			await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(key)));
			expect(await ask(route, home, key)).toMatchObject(rejected);
		});

		test("rejects the key of a deactivated user that the isolate and KV still have", async () => {
			const someone = await person();
			await call("GET", "/api/users/@me", { key: someone.key });
			await db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
			expect(await ask(route, home, someone.key)).toMatchObject(rejected);
		});

		test("rejects a key with all scopes but the route's", async () => {
			const { scope } = route;
			const others = all.filter(
				(other) => other !== scope && other !== scope.replace(":read", ":write"),
			);
			const key = await keyFor(home.owner.id, { scopes: others });
			expect(await ask(route, home, key)).toMatchObject(
				forbidden(`API key missing required scope '${scope}'`),
			);
		});

		test("rejects a key that lost the scope while the isolate and KV still have it", async () => {
			const key = await keyFor(home.owner.id, {
				scopes: [route.scope, "user:read"],
			});
			await call("GET", "/api/users/@me", { key });
			await db
				.update(personalApiKeys)
				.set({ scopes: ["user:read"] })
				.where(eq(personalApiKeys.hash, await digest(key)));
			const { status } = await ask(route, home, key);
			expect(status).toBe(route.scope === "user:read" ? 200 : 403);
		});

		if (/^\/api\/(organizations|projects)\/:/.test(route.path)) {
			test("rejects a key that is restricted to another organization", async () => {
				const key = await keyFor(home.owner.id, { scoped_organizations: [v7()] });
				expect(await ask(route, home, key)).toMatchObject(
					forbidden(`API key does not have access to the requested organization: ID ${home.id}.`),
				);
			});

			test("rejects a key that is restricted to another project", async () => {
				const key = await keyFor(home.owner.id, { scoped_projects: [2 ** 30] });
				expect(await ask(route, home, key)).toMatchObject(
					forbidden(
						route.path.startsWith("/api/projects")
							? `API key does not have access to the requested project: ID ${home.project}.`
							: "API keys with scoped projects are only supported on project-based endpoints.",
					),
				);
			});

			test("rejects a stranger, who learns nothing else", async () => {
				const stranger = await world();
				const response = await ask(route, home, stranger.key);
				expect(response.headers.get("server-timing")).toBe('d1_trips;desc="1"');
				if (route.path.includes("_id/")) expect(response.status).toBe(403);
				else
					expect(response).toMatchObject({
						status: 404,
						body: { code: "not_found" },
					});
			});

			test("answers 404 for an id that doesn't exist", async () => {
				const lost = { ...home, id: v7(), project: 2 ** 30 };
				const response = await ask(route, lost, home.key);
				expect(response.status).toBe(404);
				if (route.path.includes(":organization_id"))
					expect(response.body.detail).toBe("Organization not found.");
				if (route.path.startsWith("/api/projects"))
					expect(response.body.detail).toBe("Project not found.");
			});

			test("answers 404 for a malformed id", async () => {
				for (const id of ["x", "1e3", "'", "%00", "-1", "99999999999999999999"])
					expect(
						(await ask({ ...route, path: route.path.replace(/:\w+/, id) }, home, home.key)).status,
					).toBe(404);
			});
		}

		test("accepts a key with only its scope", async () => {
			const key = await keyFor(home.owner.id, { scopes: [route.scope] });
			const { status } = await ask(route, home, key);
			if (route.fails) expect(status).toBe(route.fails);
			else expect(status).toBeLessThan(300);
		});
	},
);
