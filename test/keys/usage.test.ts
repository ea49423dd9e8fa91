import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, onTestFinished, test, vi } from "vitest";
import { personalApiKeyDays, personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { digest } from "../../src/keys/keys.ts";
import worker from "../../src/worker.ts";
import { eventually, stopClock } from "../support/time.ts";
import { call, cost, db, forget, keyFor, world } from "../support/world.ts";

const today = () => new Date().toISOString().slice(0, 10);

const from = (address: string) => ({ "cf-connecting-ip": address });

/** A key, and what is written of its use. */
async function used() {
	const home = await world();
	const key = await keyFor(home.owner.id, { scopes: ["user:read", "personal_api_key:read"] });
	const [row] = await db
		.select()
		.from(personalApiKeys)
		.where(eq(personalApiKeys.hash, await digest(key)));
	const id = row?.id ?? "";
	const days = () => db.select().from(personalApiKeyDays).where(eq(personalApiKeyDays.key_id, id));
	return { ...home, key, key_id: id, days };
}

test("requests are counted by day, rejected ones apart, with the last address", async () => {
	stopClock();
	const { key, key_id, ask, days } = await used();
	for (const address of ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
		await call("GET", "/api/users/@me", { key, headers: from(address) });
	await call("GET", "/api/projects", { key, headers: from("192.0.2.4") });
	await eventually(async () => expect(await days()).toMatchObject([{ requests: 4 }]));
	const response = await ask("GET", `/api/personal_api_keys/${key_id}/usage`);
	expect(response.body).toEqual({
		count: 1,
		next: null,
		previous: null,
		results: [{ day: today(), requests: 4, refusals: 1, last_address: "192.0.2.4" }],
	});
	expect(cost(response)).toMatchObject({ trips: 1, written: 0 });
	// Without an address, the last one stays.
	await call("GET", "/api/users/@me", { key });
	await eventually(async () =>
		expect(await days()).toMatchObject([{ requests: 5, refusals: 1, last_address: "192.0.2.4" }]),
	);
});

test("what counts as rejected: 403, 429, and 401 of an expired key", async () => {
	const { key, key_id, days } = await used();
	await call("GET", "/api/projects", { key });
	const exhausted = { REQUESTS: { limit: async () => ({ success: false }) } };
	expect((await call("GET", "/api/users/@me", { key, env: exhausted })).status).toBe(429);
	await eventually(async () => expect(await days()).toMatchObject([{ refusals: 2, requests: 2 }]));
	const expires_at = "2020-01-01T00:00:00.000Z";
	await db.update(personalApiKeys).set({ expires_at }).where(eq(personalApiKeys.id, key_id));
	await env.KEYS.delete(`key:${await digest(key)}`);
	await forget(key);
	expect((await call("GET", "/api/users/@me", { key, headers: from("192.0.2.9") })).status).toBe(
		401,
	);
	await eventually(async () =>
		expect(await days()).toMatchObject([{ refusals: 3, last_address: "192.0.2.9" }]),
	);
});

test("unknown paths, and keys that don't exist any more, aren't counted", async () => {
	const { key, key_id, days } = await used();
	expect((await call("GET", "/api/nowhere", { key })).status).toBe(404);
	await call("GET", "/api/users/@me", { key });
	await eventually(async () => expect(await days()).toMatchObject([{ requests: 1 }]));
	await db.delete(personalApiKeys).where(eq(personalApiKeys.id, key_id));
	expect(await days()).toEqual([]);
	const { key: other, days: others } = await used();
	expect((await call("GET", "/api/users/@me", { key })).status).toBe(401);
	await call("GET", "/api/users/@me", { key: other });
	await eventually(async () => expect(await others()).toMatchObject([{ requests: 1 }]));
	expect(await days()).toEqual([]);
});

test("requests are written after the last one, or after an hour, and never delay a response", async () => {
	const { key, days } = await used();
	vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
	/** End the timers of requests, the oldest first. */
	const timers: (() => void)[] = [];
	const wait = vi
		.spyOn(scheduler, "wait")
		.mockImplementation(() => new Promise((resolve) => timers.push(resolve)));
	onTestFinished(() => wait.mockRestore());
	let writes = 0;
	const prepare = (query: string) => {
		if (query.includes("personal_api_key_days")) writes += 1;
		return env.DB.prepare(query);
	};
	const DB = Object.assign(Object.create(env.DB), { prepare });
	/** The requests so far. Their counts are written later, which `call` waits for. */
	const requests: ReturnType<typeof call>[] = [];
	const use = async (seconds: number) => {
		vi.setSystemTime(Date.now() + seconds * 1000);
		const other = { USAGE_FLUSH_SECONDS: "2", DB };
		requests.push(call("GET", "/api/users/@me", { key, env: other }));
		await eventually(() => expect(wait).toHaveBeenCalledTimes(requests.length));
		if (timers.length > 1) timers.shift()?.();
	};
	const counted = async () => {
		timers.shift()?.();
		for (const response of await Promise.all(requests))
			expect(cost(response)).toMatchObject({ trips: 1, written: 0 });
		const total = (await days()).reduce((sum, day) => sum + day.requests, 0);
		return total === requests.length;
	};

	for (let i = 0; i < 6; i++) await use(1.5);
	expect(writes).toBe(0);
	expect(await counted()).toBe(true);
	expect(writes).toBe(1);

	// They keep coming, so there is always a later one.
	for (let i = 0; i < 6; i++) await use(600);
	expect(writes).toBe(1);
	await use(600);
	await eventually(() => expect(writes).toBe(2));
	expect(await counted()).toBe(true);
});

test("two isolates add to the same day; a write that fails is repeated with the next", async () => {
	stopClock();
	const { key, key_id, days } = await used();
	const at = { key_id, day: today(), requests: 7, refusals: 2, last_address: "192.0.2.1" };
	await db.insert(personalApiKeyDays).values(at);
	const error = vi.spyOn(console, "error").mockImplementation(() => {});
	const prepare = (query: string) => {
		if (query.includes("personal_api_key_days")) throw new Error("D1 is away");
		return env.DB.prepare(query);
	};
	const DB = Object.assign(Object.create(env.DB), { prepare });
	expect((await call("GET", "/api/users/@me", { key, env: { DB } })).status).toBe(200);
	await eventually(() => expect(String(error.mock.calls)).toContain("was not written"));
	error.mockRestore();
	expect(await days()).toEqual([at]);
	await call("GET", "/api/users/@me", { key, headers: from("192.0.2.2") });
	await eventually(async () =>
		expect(await days()).toEqual([{ ...at, requests: 9, last_address: "192.0.2.2" }]),
	);
});

test("requests are counted also after the clock was set back", async () => {
	const { key, days } = await used();
	vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
	await call("GET", "/api/users/@me", { key });
	vi.useRealTimers();
	await call("GET", "/api/users/@me", { key });
	await eventually(async () => expect((await days()).map(({ day }) => day)).toContain(today()));
});

test("days are listed newest first, and deleted after 90", async () => {
	stopClock();
	const { key_id, ask, days } = await used();
	const ago = (n: number) => new Date(Date.now() - n * 86_400_000).toISOString().slice(0, 10);
	const day = (n: number) => ({ key_id, day: ago(n), requests: n, refusals: 0 });
	await db.insert(personalApiKeyDays).values([91, 90, 2, 1].map(day));
	const path = `/api/personal_api_keys/${key_id}/usage`;
	const first = await ask("GET", `${path}?limit=2`);
	expect(first.body.count).toBe(4);
	expect(first.body.results.map((row: { requests: number }) => row.requests)).toEqual([1, 2]);
	const second = await ask("GET", first.body.next);
	expect(second.body.results.map((row: { requests: number }) => row.requests)).toEqual([90, 91]);
	const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
	const tick = (scheduledTime: number) =>
		worker.scheduled(
			createScheduledController({ cron: "* * * * *", scheduledTime: new Date(scheduledTime) }),
			env,
		);
	await tick(hour + 60_000);
	expect(await days()).toHaveLength(4);
	await tick(hour);
	expect((await days()).map(({ requests }) => requests).toSorted((a, b) => a - b)).toEqual([
		1, 2, 90,
	]);
});

test("the use of another's key is not found", async () => {
	const { key_id } = await used();
	const stranger = await world();
	expect((await stranger.ask("GET", `/api/personal_api_keys/${key_id}/usage`)).status).toBe(404);
});
