import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { users } from "../../src/db/schema/people.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { digest, newValue } from "../../src/keys/keys.ts";
import { sample, type World } from "../support/routes.ts";
import { call, cost, db, furnished, keyFor, person } from "../support/world.ts";
import { ask, changeKey, isOfTenant, testGuards } from "./security.ts";

testGuards(sample);

const invalid = {
	status: 401,
	body: {
		type: "authentication_error",
		code: "authentication_failed",
		detail: "Personal API key found in request Authorization header is invalid.",
		attr: null,
	},
};

let home: World;
beforeAll(async () => {
	home = await furnished();
});

const expired = () => ({ expires_at: new Date(Date.now() - 1).toISOString() });

/** Makes a key invalid in D1 after the isolate and KV have heard of it. */
const ENDS: [string, (key: string, user_id: number) => Promise<unknown>][] = [
	[
		"a revoked key",
		async (key) => db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(key))),
	],
	["a key that has expired", (key) => changeKey(key, expired())],
	[
		"the key of a deactivated user",
		async (_, id) => db.update(users).set({ is_active: false }).where(eq(users.id, id)),
	],
];

describe.each(sample)("$method $path rejects", (route) => {
	test("a bad checksum without a query to KV or D1", async () => {
		const get = vi.fn();
		const KEYS: KVNamespace = Object.assign(Object.create(env.KEYS), { get });
		const key = `${home.key.slice(0, -1)}${home.key.endsWith("0") ? "1" : "0"}`;
		const response = await ask(route, home, key, { env: { KEYS } });
		expect(response).toMatchObject(invalid);
		expect(cost(response).trips).toBe(0);
		expect(get).not.toHaveBeenCalled();
	});

	test("a key that was never created, or has expired", async () => {
		expect(await ask(route, home, newValue())).toMatchObject(invalid);
		expect(await ask(route, home, await keyFor(home.owner.id, expired()))).toMatchObject(invalid);
	});

	describe("although the isolate and KV still have it,", () => {
		const cachedKey = async (user_id: number) => {
			const key = await keyFor(user_id);
			await call("GET", "/api/users/@me", { key });
			return key;
		};

		test.each(ENDS)("%s", async (_, end) => {
			const { id } = await person();
			const key = await cachedKey(id);
			await end(key, id);
			expect(await ask(route, home, key)).toMatchObject(invalid);
		});

		test("a key that lost the scope", async () => {
			const key = await cachedKey(home.owner.id);
			await changeKey(key, { scopes: [] });
			expect((await ask(route, home, key)).status).toBe(403);
		});
	});

	if (!isOfTenant(route)) return;
	test("an id that doesn't exist with a 404", async () => {
		const lost = { ...home, id: v7(), project: 2 ** 30 };
		const response = await ask(route, lost, home.key);
		expect(response.status).toBe(404);
		if (route.path.includes(":organization_id/") && !route.path.includes("/projects/:id"))
			expect(response.body.detail).toBe("Organization not found.");
		if (route.path.startsWith("/api/projects"))
			expect(response.body.detail).toBe("Project not found.");
	});
});
