import { env } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizationId, organizations } from "../../src/db/schema/organizations.ts";
import { members, users } from "../../src/db/schema/people.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { digest } from "../../src/keys/keys.ts";
import { eventually, exhaust } from "../support/time.ts";
import { call, cost, db, join, keyFor, person, racing, world } from "../support/world.ts";

const changed = {
	status: 403,
	body: {
		code: "permission_denied",
		detail: "Your access changed during the request.",
	},
};

describe("a change between a request’s two round trips", () => {
	test("a key that is revoked creates no other key", async () => {
		const { key, id } = await person();
		const hash = await digest(key);
		const revoke = racing(async () =>
			db.delete(personalApiKeys).where(eq(personalApiKeys.hash, hash)),
		);
		expect(
			await call("POST", "/api/personal_api_keys", {
				key,
				body: { label: "child", scopes: ["*"] },
				env: revoke,
			}),
		).toMatchObject(changed);
		expect(await db.select().from(personalApiKeys).where(eq(personalApiKeys.user_id, id))).toEqual(
			[],
		);
	});

	test("an owner who leaves, an admin who is demoted and a user who is deactivated change nothing", async () => {
		const { id } = await world("Before");
		const demote = (user_id: number) =>
			db
				.update(members)
				.set({ level: 1 })
				.where(and(eq(members.organization_id, organizationId(id)), eq(members.user_id, user_id)));
		const leave = (user_id: number) =>
			db
				.delete(members)
				.where(and(eq(members.organization_id, organizationId(id)), eq(members.user_id, user_id)));
		const deactivate = (user_id: number) =>
			db.update(users).set({ is_active: false }).where(eq(users.id, user_id));
		for (const happen of [demote, leave, deactivate]) {
			const admin = await join(id, 8);
			const response = await call("PATCH", `/api/organizations/${id}`, {
				key: admin.key,
				body: { name: "After" },
				env: racing(async () => happen(admin.id)),
			});
			expect(response).toMatchObject(changed);
		}
		const [row] = await db.select().from(organizations).where(eq(organizations.uuid, id));
		expect(row?.name).toBe("Before");
	});

	test("a project that becomes private is not changed by a user without access", async () => {
		const { id, project, ask } = await world();
		const admin = await join(id, 8);
		const happen = async () => {
			await ask("PATCH", `/api/projects/${project}`, {
				body: { access_control: true },
			});
			await db
				.update(members)
				.set({ level: 1 })
				.where(and(eq(members.organization_id, organizationId(id)), eq(members.user_id, admin.id)));
		};
		expect(
			await call("PATCH", `/api/projects/${project}`, {
				key: admin.key,
				body: { name: "x" },
				env: racing(happen),
			}),
		).toMatchObject(changed);
	});

	test("a project that is hidden from a member is not changed by that member, whose level stays", async () => {
		const { id, project, ask } = await world();
		const path = `/api/projects/${project}/plugin_configs`;
		const plugin = await ask("POST", `/api/organizations/${id}/pipeline_destinations`, {
			body: { name: "x" },
		});
		const member = await join(id, 1);
		const hide = () =>
			ask("PATCH", `/api/projects/${project}`, {
				body: { access_control: true },
			});
		expect(
			await call("POST", path, {
				key: member.key,
				body: { plugin: plugin.body.id, order: 1 },
				env: racing(hide),
			}),
		).toMatchObject(changed);
		expect((await ask("GET", path)).body.count).toBe(0);
	});

	test("a key that gets more scopes is not rolled by a key without them", async () => {
		const { ask, owner } = await world();
		const narrow = await keyFor(owner.id, {
			scopes: ["personal_api_key:write"],
		});
		const other = (
			await ask("POST", "/api/personal_api_keys", {
				body: { label: "x", scopes: ["personal_api_key:read"] },
			})
		).body;
		const widen = racing(async () =>
			ask("PATCH", `/api/personal_api_keys/${other.id}`, {
				body: { scopes: ["*"] },
			}),
		);
		expect(
			(
				await call("POST", `/api/personal_api_keys/${other.id}/roll`, {
					key: narrow,
					env: widen,
				})
			).status,
		).toBe(400);
		expect((await call("GET", "/api/projects", { key: other.value })).status).toBe(200);
	});

	test("an organization that is deleted is a 403 or 404, and gets no activity entry", async () => {
		const { id, key, ask } = await world();
		const remove = racing(async () => db.delete(organizations).where(eq(organizations.uuid, id)));
		const response = await call("POST", `/api/organizations/${id}/domains`, {
			key,
			body: { domain: `${id}.example.com` },
			env: remove,
		});
		expect([403, 404]).toContain(response.status);
		expect((await ask("GET", "/api/organizations")).body.count).toBe(0);
	});
});

describe("a restricted key", () => {
	test("learns nothing about organizations and projects of others", async () => {
		const { owner, id, project } = await world();
		const stranger = await world();
		const paths = [
			`/api/projects/${stranger.project}`,
			`/api/projects/${stranger.project}/members`,
			`/api/projects/${2 ** 30}`,
			`/api/projects/${2 ** 30}/members`,
		];
		const open = await Promise.all(paths.map((path) => call("GET", path, { key: owner.key })));
		const key = await keyFor(owner.id, { scoped_organizations: [id] });
		for (const [i, path] of paths.entries())
			expect((await call("GET", path, { key })).body).toEqual(open[i]?.body);
		const narrow = await keyFor(owner.id, { scoped_projects: [project] });
		for (const path of paths) {
			const response = await call("GET", path, { key: narrow });
			expect(response.body.detail).toMatch(
				/^API key does not have access to the requested project: ID \d+\.$/,
			);
		}
	});

	test("is rejected before the object is looked up and before the body is checked", async () => {
		const { owner, id } = await world();
		const key = await keyFor(owner.id, { scoped_organizations: [id] });
		const missing = "00000000-0000-0000-0000-000000000000";
		expect((await call("GET", `/api/organizations/${missing}`, { key })).body.detail).toBe(
			`API key does not have access to the requested organization: ID ${missing}.`,
		);
		for (const request of [{ body: {} }, { raw: "x", headers: { "content-type": "text/plain" } }])
			expect((await call("POST", "/api/organizations", { key, ...request })).body.detail).toBe(
				"API keys with scoped organizations can't create organizations.",
			);
		const narrow = await keyFor(owner.id, { scoped_projects: [1] });
		expect((await call("POST", "/api/projects", { key: narrow, body: {} })).body.detail).toBe(
			"API keys with scoped projects can't create projects.",
		);
	});
});

test("a revoked key that KV still has is removed from KV, and counts as a failed attempt", async () => {
	const { owner } = await world();
	const headers = { "cf-connecting-ip": "192.0.2.99" };
	const guess = async () => {
		const key = await keyFor(owner.id);
		const hash = await digest(key);
		await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, hash));
		const { status } = await call("GET", "/api/users/@me", { key, headers });
		expect(await env.KEYS.get(`key:${hash}`)).toBeNull();
		return status;
	};
	expect(await guess()).toBe(401);
	await eventually(async () => {
		await exhaust(env.AUTH_FAILURES, headers["cf-connecting-ip"]);
		expect(await guess()).toBe(429);
	});
});

test("a key that a replica does not have yet is looked up at the primary", async () => {
	const { key } = await person();
	const starts: string[] = [];
	const withSession = (start: string) => {
		starts.push(start);
		return env.DB.withSession(start);
	};
	const DB: D1Database = Object.assign(Object.create(env.DB), { withSession });
	expect(cost(await call("GET", "/api/users/@me", { key, env: { DB } })).trips).toBe(1);
	expect(starts).toEqual(["first-unconstrained"]);
	await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(key)));
	expect((await call("GET", "/api/users/@me", { key, env: { DB } })).status).toBe(401);
	expect(starts).toEqual(["first-unconstrained", "first-unconstrained", "first-primary"]);
});
