import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { keyCache, MAX_RECORDS } from "../../src/keys/key_cache.ts";
import { digest, newValue } from "../../src/keys/keys.ts";
import { stopClock } from "../support/time.ts";
import { call, cost, db, forget, keyFor, person, world } from "../support/world.ts";

/** Requests the caller's user. */
const ask = (key: string) => call("GET", "/api/users/@me", { key });

/** A key whose record the isolate caches, from a request that has just succeeded. */
async function warmKey(options?: Parameters<typeof keyFor>[1]) {
	const { id: user_id } = await person();
	const key = await keyFor(user_id, options);
	expect((await ask(key)).status).toBe(200);
	const hash = await digest(key);
	expect(keyCache.get(hash)).toBeDefined();
	const set = (values: Partial<typeof personalApiKeys.$inferInsert>) =>
		db.update(personalApiKeys).set(values).where(eq(personalApiKeys.hash, hash));
	return { key, hash, set };
}

/** How often requests of the key read KV. */
const readsOf = async (key: string) => cost(await ask(key)).kv;

describe("the record of a key", () => {
	test("is read from KV once in 30 seconds", async () => {
		stopClock();
		const { key } = await person();
		await forget(key);
		expect([await readsOf(key), await readsOf(key)]).toEqual([1, 0]);
		vi.setSystemTime(Date.now() + 29_999);
		expect(await readsOf(key)).toBe(0);
		vi.setSystemTime(Date.now() + 1);
		expect([await readsOf(key), await readsOf(key)]).toEqual([1, 0]);
	});

	test("expires in KV after a day", async () => {
		const { hash } = await warmKey();
		const { keys } = await env.KEYS.list({ prefix: `key:${hash}` });
		const seconds = (keys[0]?.expiration ?? Infinity) - Date.now() / 1000;
		expect(seconds).toBeGreaterThan(23 * 3600);
		expect(seconds).toBeLessThan(25 * 3600);
	});

	test("is read again if the clock was set back", async () => {
		stopClock();
		const { key } = await warmKey();
		vi.setSystemTime(Date.now() - 1);
		expect([await readsOf(key), await readsOf(key)]).toEqual([1, 0]);
	});

	test("makes place for newer ones", async () => {
		const { key, hash } = await warmKey();
		const record = keyCache.get(hash);
		if (!record) throw new Error("The record is not cached.");
		const others = Array.from({ length: MAX_RECORDS }, () => v7());
		for (const other of others.slice(1)) keyCache.set(other, record);
		expect(await readsOf(key)).toBe(0);
		keyCache.set(others[0] ?? "", record);
		expect(await readsOf(key)).toBe(1);
		for (const other of others) keyCache.delete(other);
	});

	test("is not cached for a key that doesn't exist", async () => {
		const get = vi.fn(env.KEYS.get.bind(env.KEYS));
		const KEYS: KVNamespace = Object.assign(Object.create(env.KEYS), { get });
		const key = newValue();
		for (const reads of [1, 2]) {
			const headers = { "cf-connecting-ip": v7() };
			const { status } = await call("GET", "/api/users/@me", { key, headers, env: { KEYS } });
			expect(status).toBe(401);
			expect(get).toHaveBeenCalledTimes(reads);
		}
	});

	test("follows a change of the key, and a roll", async () => {
		const { ask: asOwner } = await world();
		const path = "/api/personal_api_keys";
		const made = await asOwner("POST", path, { body: { label: "x", scopes: ["user:read"] } });
		const { id, value } = made.body;
		const scopes = ["user:read", "plugin:read"];
		await asOwner("PATCH", `${path}/${id}`, { body: { scopes } });
		expect(keyCache.get(await digest(value))?.scopes).toEqual(scopes);
		const { body: rolled } = await asOwner("POST", `${path}/${id}/roll`);
		expect(cost(await ask(rolled.value))).toMatchObject({ trips: 1, kv: 0 });
	});
});

describe("while the isolate holds the record, the next request", () => {
	test("of a revoked key is rejected, and the record is dropped", async () => {
		const { key, hash } = await warmKey();
		await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, hash));
		expect((await ask(key)).status).toBe(401);
		expect(keyCache.get(hash)).toBeUndefined();
	});

	test("of a key whose time is up is rejected", async () => {
		stopClock();
		const { key } = await warmKey({ expires_at: new Date(Date.now() + 10_000).toISOString() });
		vi.setSystemTime(Date.now() + 10_000);
		expect((await ask(key)).status).toBe(401);
	});

	test("of a key whose life was made longer succeeds", async () => {
		stopClock();
		const { key, set } = await warmKey({
			expires_at: new Date(Date.now() + 10_000).toISOString(),
		});
		await set({ expires_at: null });
		vi.setSystemTime(Date.now() + 10_000);
		expect((await ask(key)).status).toBe(200);
	});

	test("of a rolled key is rejected", async () => {
		const { key, set } = await warmKey();
		await set({ hash: v7() });
		expect((await ask(key)).status).toBe(401);
	});

	test("has a scope that was added, and the record follows", async () => {
		const { key, set } = await warmKey({ scopes: ["user:read"] });
		await set({ scopes: ["user:read", "project:read"] });
		const projects = () => call("GET", "/api/projects", { key });
		const [first, second] = [await projects(), await projects()];
		expect([first.status, cost(first).trips]).toEqual([200, 2]);
		expect([second.status, cost(second).trips]).toEqual([200, 1]);
	});

	test("of a key that was restricted is rejected", async () => {
		const { owner, id } = await world();
		const key = await keyFor(owner.id);
		const read = () => call("GET", `/api/organizations/${id}`, { key });
		expect((await read()).status).toBe(200);
		const its = eq(personalApiKeys.hash, await digest(key));
		await db
			.update(personalApiKeys)
			.set({ scoped_organizations: [v7()] })
			.where(its);
		expect((await read()).status).toBe(403);
		await db.update(personalApiKeys).set({ scoped_organizations: [] }).where(its);
		expect((await read()).status).toBe(200);
	});
});
