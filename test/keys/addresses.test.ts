import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { digest } from "../../src/keys/keys.ts";
import { forbidden, wrong } from "../support/errors.ts";
import { post } from "../support/mcp.ts";
import { call, cost, db, forget, keyFor, racing, world } from "../support/world.ts";

const path = "/api/personal_api_keys";
const INSIDE = "203.0.113.7";
const OUTSIDE = "198.51.100.1";
const allowed_ips = ["203.0.113.0/24", "2001:db8::/32"];

const rejection = (address: string) =>
	forbidden(`API key can't be used from this address: ${address}.`);

/** Requests the caller's user from an address. */
const from = (address: string | undefined, key: string, options: { env?: Partial<Env> } = {}) =>
	call("GET", "/api/users/@me", {
		key,
		headers: address === undefined ? {} : { "cf-connecting-ip": address },
		...options,
	});

/** Sets the ranges of a key in D1, so that KV's record is old. */
const setInD1 = async (key: string, ranges: string[]) =>
	db
		.update(personalApiKeys)
		.set({ allowed_ips: ranges })
		.where(eq(personalApiKeys.hash, await digest(key)));

test("a key with addresses works from these, in one round trip, and is rejected elsewhere with the address seen", async () => {
	const { owner } = await world();
	const key = await keyFor(owner.id, { allowed_ips });
	for (const address of [INSIDE, "::ffff:203.0.113.9", "2001:DB8::5"]) {
		const response = await from(address, key);
		expect([response.status, cost(response).trips]).toEqual([200, 1]);
	}
	for (const address of [OUTSIDE, "203.0.114.1", "2001:db9::1", "::ffff:198.51.100.1", "nonsense"])
		expect(await from(address, key)).toMatchObject(rejection(address));
	expect(await from(undefined, key)).toMatchObject(rejection("unknown"));
});

test("the address comes before the scope: a thief doesn't learn what the key may do", async () => {
	const { owner } = await world();
	const key = await keyFor(owner.id, { scopes: ["plugin:read"], allowed_ips });
	expect(await from(OUTSIDE, key)).toMatchObject(rejection(OUTSIDE));
	expect(await from(INSIDE, key)).toMatchObject(
		forbidden("API key missing required scope 'user:read'"),
	);
});

describe("while KV has an old record of the key", () => {
	test("an address that was taken away is rejected in one round trip", async () => {
		const { owner } = await world();
		const key = await keyFor(owner.id);
		expect((await from(OUTSIDE, key)).status).toBe(200);
		await setInD1(key, allowed_ips);
		const response = await from(OUTSIDE, key);
		expect(response).toMatchObject(rejection(OUTSIDE));
		expect(cost(response).trips).toBe(1);
		expect((await from(INSIDE, key)).status).toBe(200);
	});

	test("an address that was added works at once", async () => {
		const { owner } = await world();
		const key = await keyFor(owner.id, { allowed_ips });
		await setInD1(key, [OUTSIDE]);
		const response = await from(OUTSIDE, key);
		expect([response.status, cost(response).trips]).toEqual([200, 2]);
		expect((await from(INSIDE, key)).status).toBe(403);
	});

	test("a record from before there were addresses allows none that D1 rejects", async () => {
		const { owner } = await world();
		const key = await keyFor(owner.id, { allowed_ips });
		const name = `key:${await digest(key)}`;
		const { allowed_ips: _, ...old } = JSON.parse((await env.KEYS.get(name)) ?? "");
		await env.KEYS.put(name, JSON.stringify(old));
		await forget(key);
		expect(await from(OUTSIDE, key)).toMatchObject(rejection(OUTSIDE));
		expect((await from(INSIDE, key)).status).toBe(200);
	});
});

test("a write is rejected if the key loses the address meanwhile", async () => {
	const { owner } = await world();
	const key = await keyFor(owner.id);
	const response = await call("PATCH", "/api/users/@me", {
		key,
		headers: { "cf-connecting-ip": OUTSIDE },
		body: { first_name: "Renamed" },
		env: racing(() => setInD1(key, allowed_ips)),
	});
	expect(response).toMatchObject(forbidden("Your access changed during the request."));
});

test("accepting an invite, and /mcp, check the address, too", async () => {
	const { owner, here } = await world();
	const key = await keyFor(owner.id, { scopes: ["plugin:read"], allowed_ips });
	const made = await here("POST", "/invites", {
		body: { target_email: "somebody@tenantry.test", send_email: false },
	});
	const token = made.body.accept_url.split("/").at(-1);
	const headers = { "cf-connecting-ip": OUTSIDE };
	expect(await call("GET", `/api/invites/${token}`, { key, headers })).toMatchObject(
		rejection(OUTSIDE),
	);
	expect(await call("POST", `/api/invites/${token}/accept`, { key, headers })).toMatchObject(
		rejection(OUTSIDE),
	);
	for (const method of ["ping", "tools/call"]) {
		const params = { name: "whoami", arguments: {} };
		const message = { jsonrpc: "2.0", id: 1, method, ...(method !== "ping" && { params }) };
		const answer = JSON.stringify((await post(key, message, { headers })).body);
		expect(answer).toContain(`API key can't be used from this address: ${OUTSIDE}.`);
		expect(answer).not.toContain("plugin:read");
	}
});

describe("the field allowed_ips", () => {
	test("is kept in one form, without duplicates, and shown", async () => {
		const { ask } = await world();
		const given = [" 203.0.113.7/24 ", "203.0.113.0/24", "2001:DB8:0::/32", "::ffff:192.0.2.1"];
		const body = { label: "x", scopes: ["user:read"], allowed_ips: given };
		const made = await ask("POST", path, { body });
		const kept = ["203.0.113.0/24", "2001:db8::/32", "192.0.2.1"];
		expect(made.body).toMatchObject({ allowed_ips: kept });
		expect((await ask("GET", `${path}/${made.body.id}`)).body.allowed_ips).toEqual(kept);
		const record = await env.KEYS.get(`key:${await digest(made.body.value)}`, "json");
		expect(record).toMatchObject({ allowed_ips: kept });
		const open = await ask("PATCH", `${path}/${made.body.id}`, { body: { allowed_ips: [] } });
		expect(open.body.allowed_ips).toEqual([]);
		expect((await from(OUTSIDE, made.body.value)).status).toBe(200);
	});

	test("is rejected with what is no address, or too many", async () => {
		const { ask, key_id } = { ...(await world()), key_id: "@current" };
		for (const [list, code, detail, attr] of [
			[
				["192.0.2.1", "192.0.2.0/33"],
				"invalid_input",
				"Enter an IP address, or a range such as 203.0.113.0/24.",
				"allowed_ips__1",
			],
			[[7], "invalid_input", "Not a valid string.", "allowed_ips__0"],
			[[""], "blank", "This field may not be blank.", "allowed_ips__0"],
			["192.0.2.1", "not_a_list", 'Expected a list of items but got type "str".', "allowed_ips"],
			[
				Array.from({ length: 51 }, (_, i) => `192.0.2.${i}`),
				"max_length",
				"Ensure this field has no more than 50 elements.",
				"allowed_ips",
			],
		] as const) {
			const body = { label: "x", scopes: ["*"], allowed_ips: list };
			expect(await ask("POST", path, { body })).toMatchObject(wrong(code, detail, attr));
			expect(await ask("PATCH", `${path}/${key_id}`, { body })).toMatchObject(
				wrong(code, detail, attr),
			);
		}
	});

	test("can't be wider than that of the key in use", async () => {
		const { owner } = await world();
		const key = await keyFor(owner.id, { allowed_ips });
		const headers = { "cf-connecting-ip": INSIDE };
		const make = (ranges?: string[]) =>
			call("POST", path, {
				key,
				headers,
				body: { label: "x", scopes: ["*"], ...(ranges && { allowed_ips: ranges }) },
			});
		expect((await make(["203.0.113.128/25", "2001:db8:1::/48"])).status).toBe(201);
		const narrow = (await make(allowed_ips)).body;
		for (const ranges of [undefined, [], ["203.0.112.0/23"], ["203.0.113.7", "192.0.2.1"]])
			expect(await make(ranges)).toMatchObject(
				forbidden("An API key can't give more access than it has itself."),
			);
		expect(
			await call("PATCH", `${path}/${narrow.id}`, { key, headers, body: { allowed_ips: [] } }),
		).toMatchObject(forbidden("An API key can't give more access than it has itself."));
		const wide = await keyFor(owner.id);
		const [row] = await db
			.select()
			.from(personalApiKeys)
			.where(eq(personalApiKeys.hash, await digest(wide)));
		expect(await call("POST", `${path}/${row?.id}/roll`, { key, headers })).toMatchObject(
			forbidden("An API key can't give more access than it has itself."),
		);
	});

	test("of the key in use can't reject the address that it is used from", async () => {
		const { owner } = await world();
		const key = await keyFor(owner.id);
		const set = (address: string | undefined) =>
			call("PATCH", `${path}/@current`, {
				key,
				body: { allowed_ips },
				headers: address === undefined ? {} : { "cf-connecting-ip": address },
			});
		for (const address of [OUTSIDE, undefined])
			expect(await set(address)).toMatchObject(
				wrong(
					"invalid_input",
					`The key in use must allow the address that it is used from: ${address ?? "unknown"}.`,
					"allowed_ips",
				),
			);
		expect((await set(INSIDE)).status).toBe(200);
		expect((await from(OUTSIDE, key)).status).toBe(403);
	});
});
