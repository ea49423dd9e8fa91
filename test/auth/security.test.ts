import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { digest, mint } from "../../src/auth/keys.ts";
import { personalApiKeys, users } from "../../src/db/schema.ts";
import { objects } from "../../src/tenant/scopes.ts";
import { forbidden } from "../support/refusals.ts";
import { address, guarded, type Route, type World } from "../support/routes.ts";
import { call, cost, db, furnished, keyFor, person, world } from "../support/world.ts";

const all = objects.flatMap((object) => [`${object}:read`, `${object}:write`]);

const refused = {
	status: 401,
	body: {
		type: "authentication_error",
		code: "authentication_failed",
		detail: "Personal API key found in request Authorization header is invalid.",
		attr: null,
	},
};

/** One request on the route; each from an address of its own, so that none is throttled for another's failures. */
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

		test("asks for a key", async () => {
			const answer = await ask(route, home);
			expect(answer).toMatchObject({
				status: 401,
				body: {
					code: "not_authenticated",
					detail: "Authentication credentials were not provided.",
				},
			});
			expect(answer.headers.get("www-authenticate")).toBe("Bearer");
		});

		test("refuses a bad checksum without asking any storage", async () => {
			const get = vi.fn();
			const KEYS: KVNamespace = Object.assign(Object.create(env.KEYS), { get });
			const key = `${home.key.slice(0, -1)}${home.key.endsWith("0") ? "1" : "0"}`;
			const answer = await ask(route, home, key, { KEYS });
			expect(answer).toMatchObject(refused);
			expect(cost(answer).trips).toBe(0);
			expect(get).not.toHaveBeenCalled();
		});

		test("refuses a key that was never made", async () => {
			expect(await ask(route, home, mint())).toMatchObject(refused);
		});

		test("refuses an expired key", async () => {
			const key = await keyFor(home.owner.id, {
				expires_at: new Date(Date.now() - 1).toISOString(),
			});
			expect(await ask(route, home, key)).toMatchObject(refused);
		});

		test("refuses a revoked key that KV still knows", async () => {
			const key = await keyFor(home.owner.id);
			await call("GET", "/api/users/@me", { key });
			await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(key)));
			expect(await ask(route, home, key)).toMatchObject(refused);
		});

		test("refuses the key of a deactivated user that KV still knows", async () => {
			const someone = await person();
			await call("GET", "/api/users/@me", { key: someone.key });
			await db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
			expect(await ask(route, home, someone.key)).toMatchObject(refused);
		});

		test("refuses every scope but its own", async () => {
			const { scope } = route;
			const others = all.filter(
				(other) => other !== scope && other !== scope.replace(":read", ":write"),
			);
			const key = await keyFor(home.owner.id, { scopes: others });
			expect(await ask(route, home, key)).toMatchObject(
				forbidden(`API key missing required scope '${scope}'`),
			);
		});

		test("refuses a key that lost the scope while KV still knows it", async () => {
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
			test("refuses a key that is restricted to another organization", async () => {
				const key = await keyFor(home.owner.id, { scoped_organizations: [v7()] });
				expect(await ask(route, home, key)).toMatchObject(
					forbidden(`API key does not have access to the requested organization: ID ${home.id}.`),
				);
			});

			test("refuses a key that is restricted to another project", async () => {
				const key = await keyFor(home.owner.id, { scoped_projects: [2 ** 30] });
				expect(await ask(route, home, key)).toMatchObject(
					forbidden(
						route.path.startsWith("/api/projects")
							? `API key does not have access to the requested project: ID ${home.project}.`
							: "API keys with scoped projects are only supported on project-based endpoints.",
					),
				);
			});

			test("keeps a stranger out, who learns no more than that", async () => {
				const stranger = await world();
				const answer = await ask(route, home, stranger.key);
				expect(answer.headers.get("server-timing")).toBe('d1_trips;desc="1"');
				if (route.path.includes("_id/")) expect(answer.status).toBe(403);
				else
					expect(answer).toMatchObject({
						status: 404,
						body: { code: "not_found" },
					});
			});

			test("does not find what is not there", async () => {
				const lost = { ...home, id: v7(), project: 2 ** 30 };
				const answer = await ask(route, lost, home.key);
				expect(answer.status).toBe(404);
				if (route.path.includes(":organization_id"))
					expect(answer.body.detail).toBe("Organization not found.");
				if (route.path.startsWith("/api/projects"))
					expect(answer.body.detail).toBe("Project not found.");
			});

			test("does not find what can’t be an id", async () => {
				for (const id of ["x", "1e3", "'", "%00", "-1", "99999999999999999999"])
					expect(
						(await ask({ ...route, path: route.path.replace(/:\w+/, id) }, home, home.key)).status,
					).toBe(404);
			});
		}

		test("lets its own scope in", async () => {
			const key = await keyFor(home.owner.id, { scopes: [route.scope] });
			const { status } = await ask(route, home, key);
			if (route.fails) expect(status).toBe(route.fails);
			else expect(status).toBeLessThan(300);
		});
	},
);
