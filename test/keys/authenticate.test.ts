import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { digest, isWellFormed, newValue } from "../../src/keys/keys.ts";
import { eventually, exhaust } from "../support/time.ts";
import { call, cost, db, forget, person } from "../support/world.ts";

const status = async (authorization: string) =>
	(
		await call("GET", "/api/users/@me", {
			headers: { authorization, "cf-connecting-ip": v7() },
		})
	).status;

test("Bearer may be in any case, and extra spaces are ignored", async () => {
	const { key } = await person();
	for (const authorization of [
		`Bearer ${key}`,
		`bearer ${key}`,
		`BEARER \t  ${key}  `,
		`  Bearer   ${key}`,
	])
		expect(await status(authorization)).toBe(200);
});

test("nothing else authenticates", async () => {
	const { key } = await person();
	for (const authorization of [
		key,
		`Basic ${key}`,
		`Bearer ${key} more`,
		"Bearer",
		`Bearer ${key}x`,
		`Bearer${key}`,
		`Bearer "${key}"`,
	])
		expect(await status(authorization)).toBe(401);
	for (const query of [`personal_api_key=${key}`, `token=${key}`])
		expect((await call("GET", `/api/users/@me?${query}`)).body.code).toBe("not_authenticated");
});

test("a value that differs in one character is rejected without a query to KV or D1", async () => {
	const value = newValue();
	expect(isWellFormed(value)).toBe(true);
	for (let i = 4; i < value.length; i++) {
		if (value[i] === "_") continue;
		expect(
			isWellFormed(`${value.slice(0, i)}${value[i] === "a" ? "b" : "a"}${value.slice(i + 1)}`),
		).toBe(false);
	}
	expect(cost(await call("GET", "/api/users/@me", { key: `${value}0` })).trips).toBe(0);
});

test("a key that has used up its requests gets a 429 that says what is left and when to try again", async () => {
	const { key, id } = await person();
	const other = await person();
	const [row] = await db
		.select({ id: personalApiKeys.id })
		.from(personalApiKeys)
		.where(eq(personalApiKeys.user_id, id));
	expect((await call("GET", "/api/users/@me", { key })).status).toBe(200);
	const rejected = await eventually(async () => {
		await exhaust(env.REQUESTS, row?.id ?? "");
		const response = await call("GET", "/api/users/@me", { key });
		expect(response.status).toBe(429);
		return response;
	});
	expect(rejected).toMatchObject({
		status: 429,
		body: {
			type: "throttled_error",
			code: "throttled",
			detail: "Request was throttled. Expected available in 60 seconds.",
			attr: null,
		},
	});
	expect(rejected.headers.get("retry-after")).toBe("60");
	expect(rejected.headers.get("ratelimit")).toBe('"requests";r=0;t=60');
	expect(rejected.headers.get("ratelimit-policy")).toBe('"requests";q=480;w=60');
	expect(cost(rejected).trips).toBe(0);
	expect((await call("GET", "/api/users/@me", { key: other.key })).status).toBe(200);
});

test("480 requests, 60 failures and 10 sign-ins a minute are allowed", async () => {
	await eventually(async () => {
		expect(await exhaust(env.REQUESTS, v7())).toBe(480);
		expect(await exhaust(env.AUTH_FAILURES, v7())).toBe(60);
		expect(await exhaust(env.SIGN_INS, v7())).toBe(10);
	});
});

test("failed authentication is throttled by address; a valid key from there still works", async () => {
	const { key } = await person();
	const from = (address: string, key: string) =>
		call("GET", "/api/users/@me", { key, headers: { "cf-connecting-ip": address } });
	const guess = async (address: string) => (await from(address, newValue())).status;
	expect(await guess("192.0.2.7")).toBe(401);
	await eventually(async () => {
		await exhaust(env.AUTH_FAILURES, "192.0.2.7");
		expect(await guess("192.0.2.7")).toBe(429);
	});
	expect((await from("192.0.2.7", key)).status).toBe(200);
	// Its record in KV expires once a day.
	await env.KEYS.delete(`key:${await digest(key)}`);
	await forget(key);
	expect((await from("192.0.2.7", key)).status).toBe(200);
	expect(await guess("192.0.2.8")).toBe(401);
	let attempts = 0;
	await eventually(async () => {
		attempts += 1;
		await exhaust(env.AUTH_FAILURES, "2001:db8:7:1::/64");
		expect(await guess(`2001:db8:7:1::${attempts}`)).toBe(429);
	});
	expect(await guess("2001:db8:7:2::1")).toBe(401);
});

test("guesses are looked up 480 times a minute for a network", async () => {
	const headers = { "cf-connecting-ip": "192.0.2.9" };
	await eventually(async () => {
		await exhaust(env.REQUESTS, "lookups of keys from 192.0.2.9");
		const response = await call("GET", "/api/users/@me", { key: newValue(), headers });
		expect([response.status, cost(response).trips]).toEqual([429, 0]);
	});
});

test("a response has D1’s bookmark, and a request may start from one", async () => {
	const { key } = await person();
	const first = await call("GET", "/api/users/@me", { key });
	const bookmark = first.headers.get("x-d1-bookmark") ?? "";
	expect(bookmark).toMatch(/^[0-9a-f-]+$/);
	for (const sent of [bookmark, "nonsense", "'; drop table users", "-".repeat(500)])
		expect(
			(
				await call("GET", "/api/users/@me", {
					key,
					headers: { "x-d1-bookmark": sent },
				})
			).status,
		).toBe(200);
});
