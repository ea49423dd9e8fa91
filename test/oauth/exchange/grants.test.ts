import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, isNotNull } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { oauthCodes, oauthRefreshTokens } from "../../../src/db/schema/oauth.ts";
import { users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { keyCache } from "../../../src/keys/key_cache.ts";
import { digest } from "../../../src/keys/keys.ts";
import { deleteOld } from "../../../src/oauth/clean.ts";
import { newRefreshToken } from "../../../src/oauth/protocol/tokens.ts";
import { outbox } from "../../support/mail.ts";
import { connect } from "../../support/mcp.ts";
import { stopClock } from "../../support/time.ts";
import { call, cost, db, insertGrant, world } from "../../support/world.ts";
import {
	API,
	codeFor,
	exchange,
	fails,
	granted,
	introspect,
	MCP,
	newApp,
	refresh,
	request,
	revoke,
	secretsIn,
	send,
	statusWith,
} from "../support.ts";

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

/** Lets time pass, after `stopClock`. */
const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

const isOf = (id: number) => eq(personalApiKeys.user_id, id);

/** The grants of a user. */
const grantsOf = async (id: number) =>
	(await db.select().from(personalApiKeys).where(isOf(id))).filter((key) => key.client_id);

test("an app gets what the person allowed, and no more, until the person's access changes", async () => {
	const home = await world();
	const { access } = await granted(home, {
		fields: { scope: "project:write organization:read", resource: API },
		choice: { scopes: ["project:read"], scoped_organizations: [home.id] },
	});
	expect((await call("GET", `/api/projects/${home.project}`, { key: access })).status).toBe(200);
	const write = await call("PATCH", `/api/projects/${home.project}`, {
		key: access,
		body: { name: "x" },
	});
	expect(write.body.detail).toBe("API key missing required scope 'project:write'");
	const other = await world();
	expect((await call("GET", `/api/projects/${other.project}`, { key: access })).status).toBe(404);
	await db.update(users).set({ is_active: false }).where(eq(users.id, home.owner.id));
	expect(await statusWith(access)).toBe(401);
});

test("a token for one resource doesn't work at the other", async () => {
	const home = await world();
	const ofMcp = await granted(home, { fields: { resource: MCP } });
	const ofApi = await granted(home, { fields: { resource: API } });
	const neither = await granted(home);
	const { tool } = await connect(ofMcp.access);
	expect(await tool("read", { operationId: "listProjects" })).toMatchObject({ isError: false });
	expect(await statusWith(ofMcp.access)).toBe(401);
	await expect(connect(ofApi.access)).rejects.toThrow();
	await expect(connect(neither.access)).rejects.toThrow();
	expect(await statusWith(ofApi.access)).toBe(200);
	expect(await statusWith(neither.access)).toBe(200);
});

test("a token works at its resource only, whether its record is cached, in KV or only in D1", async () => {
	const { access } = await granted(await world(), { fields: { resource: MCP } });
	const hash = await digest(access);
	keyCache.delete(hash);
	expect(await statusWith(access)).toBe(401);
	keyCache.delete(hash);
	await env.KEYS.delete(`key:${hash}`);
	expect(await statusWith(access)).toBe(401);
});

describe("a code", () => {
	test.each([
		["another verifier", { verifier: "x".repeat(43) }, "invalid_grant"],
		["another redirect URI", { redirect_uri: "https://notes.example/other" }, "invalid_grant"],
		["another app", { client_id: "https://other.example/app" }, "invalid_grant"],
		["another resource", { resource: API }, "invalid_target"],
		["a resource of another service", { resource: "https://evil.test/mcp" }, "invalid_target"],
	])("doesn't work with %s, and still works for its app", async (_, change, error) => {
		const home = await world();
		const asked = await request(newApp(), { resource: MCP });
		const code = await codeFor(home, asked);
		await expect(exchange(code, asked, change)).rejects.toMatchObject(fails(error));
		expect(await exchange(code, asked, { resource: MCP })).toMatchObject({ token_type: "bearer" });
	});

	test("works once: a second use, by whoever has the verifier, ends the grant", async () => {
		const home = await world();
		const { code, asked, access, refresh: token, client_id } = await granted(home);
		await expect(exchange(code, asked)).rejects.toMatchObject(fails("invalid_grant"));
		expect(await statusWith(access)).toBe(401);
		await expect(refresh(client_id, token)).rejects.toMatchObject(fails("invalid_grant"));
	});

	test("that was seen in a log doesn't end the grant", async () => {
		const { code, asked, access } = await granted(await world());
		const change = { verifier: "x".repeat(43) };
		await expect(exchange(code, asked, change)).rejects.toMatchObject(fails("invalid_grant"));
		expect(await statusWith(access)).toBe(200);
	});

	test("in a race of ten gives tokens at most once, and none of them work", async () => {
		const home = await world();
		const asked = await request(newApp());
		const code = await codeFor(home, asked);
		const racers = Array.from({ length: 10 }, () => exchange(code, asked));
		const results = await Promise.allSettled(racers);
		const tokens = results.flatMap((result) =>
			result.status === "fulfilled" ? [result.value] : [],
		);
		expect(tokens.length).toBeLessThanOrEqual(1);
		for (const { access_token } of tokens) expect(await statusWith(access_token)).toBe(401);
		expect(await grantsOf(home.owner.id)).toEqual([]);
	});

	test("works for a minute, and not for a deactivated person", async () => {
		stopClock();
		const home = await world();
		const asked = await request(newApp());
		const late = await codeFor(home, asked);
		pass(60_000);
		await expect(exchange(late, asked)).rejects.toMatchObject(fails("invalid_grant"));
		const code = await codeFor(home, asked);
		await db.update(users).set({ is_active: false }).where(eq(users.id, home.owner.id));
		await expect(exchange(code, asked)).rejects.toMatchObject(fails("invalid_grant"));
	});
});

describe("a refresh token", () => {
	test("gives new tokens, which replace the old ones, with the same access", async () => {
		stopClock();
		const home = await world();
		const grant = await granted(home, { fields: { resource: API } });
		const { client_id, access, refresh: token } = grant;
		const next = await refresh(client_id, token, { resource: API });
		expect(next).toMatchObject({ scope: "project:read", expires_in: 3600 });
		expect(await statusWith(access)).toBe(401);
		expect(await statusWith(next.access_token)).toBe(200);
		const last = await refresh(client_id, secretsIn(next).refresh);
		expect(await statusWith(last.access_token)).toBe(200);
		expect(await grantsOf(home.owner.id)).toHaveLength(1);
	});

	test("that was used before the last one ends the grant with all its tokens", async () => {
		const home = await world();
		const { client_id, refresh: token } = await granted(home);
		const next = secretsIn(await refresh(client_id, token));
		const last = secretsIn(await refresh(client_id, next.refresh));
		await expect(refresh(client_id, token)).rejects.toMatchObject(fails("invalid_grant"));
		expect(await statusWith(last.access)).toBe(401);
		await expect(refresh(client_id, last.refresh)).rejects.toMatchObject(fails("invalid_grant"));
		expect(await grantsOf(home.owner.id)).toEqual([]);
	});

	test("that ends the grant is a mail to the person", async () => {
		const home = await world();
		await db.update(users).set({ is_email_verified: true }).where(eq(users.id, home.owner.id));
		const { client_id, refresh: refresh_token } = await granted(home);
		const next = secretsIn(await refresh(client_id, refresh_token));
		await refresh(client_id, next.refresh);
		const mails = outbox();
		const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token, client_id });
		const again = new Request(new URL("/oauth/token", API), { method: "POST", body });
		const context = createExecutionContext();
		await app.fetch(again, { ...env, ...mails.env }, context);
		await waitOnExecutionContext(context);
		const [mail] = mails.take();
		expect(mail?.to).toBe(home.owner.email);
		expect(mail?.text).toContain('A code or token of the app "Notes" was used twice');
	});

	test("that was exchanged last gets the same tokens again for 30 seconds", async () => {
		stopClock();
		const home = await world();
		const { client_id, refresh: token } = await granted(home);
		const next = await refresh(client_id, token);
		pass(29_999);
		const { access_token } = next;
		expect(await refresh(client_id, token)).toEqual({ ...next, expires_in: 3570 });
		expect(await statusWith(access_token)).toBe(200);
		pass(1);
		await expect(refresh(client_id, token)).rejects.toMatchObject(fails("invalid_grant"));
		expect(await statusWith(access_token)).toBe(401);
		expect(await grantsOf(home.owner.id)).toEqual([]);
	});

	test("costs two round trips when it is exchanged, one when that is repeated, and one write for the first repetition", async () => {
		const { client_id, refresh: refresh_token } = await granted(await world());
		const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token, client_id });
		const costs = [];
		for (let i = 0; i < 3; i += 1) {
			const { status, headers } = await send("POST", "/oauth/token", form);
			const { trips, written } = cost({ status, headers, body: null });
			costs.push([trips, written > 0]);
		}
		expect(costs).toEqual([
			[2, true],
			[2, true],
			[1, false],
		]);
	});

	test("is useless to other apps within these 30 seconds, too", async () => {
		const home = await world();
		const { client_id, refresh: token } = await granted(home);
		const { access } = secretsIn(await refresh(client_id, token));
		await expect(refresh(newApp(), token)).rejects.toMatchObject(fails("invalid_grant"));
		expect(await statusWith(access)).toBe(200);
	});

	test("in a race of twenty gives all of them the same tokens, which work", async () => {
		const home = await world();
		const { client_id, refresh: token } = await granted(home);
		const racers = Array.from({ length: 20 }, () => refresh(client_id, token));
		const tokens = (await Promise.all(racers)).map(secretsIn);
		const [one] = tokens;
		expect(new Set(tokens.map((each) => JSON.stringify(each))).size).toBe(1);
		expect(await statusWith(one?.access ?? "")).toBe(200);
		expect(await statusWith((await refresh(client_id, one?.refresh ?? "")).access_token)).toBe(200);
		expect(await grantsOf(home.owner.id)).toHaveLength(1);
	});

	test("that is exchanged a moment after the one before leaves the access token to requests on their way", async () => {
		stopClock();
		const { client_id, refresh: token } = await granted(await world());
		const first = secretsIn(await refresh(client_id, token));
		const second = secretsIn(await refresh(client_id, first.refresh));
		expect(second.access).toBe(first.access);
		expect(second.refresh).not.toBe(first.refresh);
		pass(30_000);
		const third = secretsIn(await refresh(client_id, second.refresh));
		expect(await statusWith(first.access)).toBe(401);
		expect(await statusWith(third.access)).toBe(200);
	});

	test("isn't exchanged while other requests of the app get it, which may still use the one before", async () => {
		stopClock();
		const { client_id, refresh: token } = await granted(await world());
		const first = secretsIn(await refresh(client_id, token));
		for (const used of [token, first.refresh, token])
			expect(secretsIn(await refresh(client_id, used))).toEqual(first);
		pass(30_000);
		const next = secretsIn(await refresh(client_id, first.refresh));
		expect(next.refresh).not.toBe(first.refresh);
		await expect(refresh(client_id, token)).rejects.toMatchObject(fails("invalid_grant"));
		expect(await statusWith(next.access)).toBe(401);
	});

	test("that two processes share serves both, as long as they use it at the same time", async () => {
		stopClock();
		const { client_id, refresh: token } = await granted(await world());
		const processes = [token, token];
		for (let hour = 0; hour < 3; hour += 1) {
			for (const [i, current] of processes.entries()) {
				const { access, refresh: next } = secretsIn(await refresh(client_id, current));
				processes[i] = next;
				expect(await statusWith(access)).toBe(200);
				pass(10_000);
			}
			pass(HOUR);
		}
	});

	test("gives an access token for some of the scopes, and later all again", async () => {
		stopClock();
		const home = await world();
		const scopes = ["project:write", "user:read"];
		const { client_id, refresh: token } = await granted(home, {
			fields: { scope: scopes.join(" ") },
			choice: { scopes },
		});
		const limited = await refresh(client_id, token, { scope: "project:read offline_access" });
		const { access, refresh: next } = secretsIn(limited);
		expect(limited.scope).toBe("project:read");
		const path = `/api/projects/${home.project}`;
		const rename = async (key: string) =>
			(await call("PATCH", path, { key, body: { name: "x" } })).status;
		expect([await statusWith(access), await rename(access)]).toEqual([200, 403]);
		expect(await introspect(client_id, access)).toMatchObject({ scope: "project:read" });
		expect(await introspect(client_id, next)).toMatchObject({ scope: scopes.join(" ") });
		const { body } = await home.ask("GET", "/api/users/@me/oauth_grants");
		expect(body.results).toMatchObject([{ scopes }]);
		await expect(refresh(client_id, token, { scope: "user:read" })).rejects.toMatchObject(
			fails("invalid_scope"),
		);
		expect(await refresh(client_id, token, { scope: "project:read" })).toEqual(limited);
		const all = await refresh(client_id, next, { scope: "offline_access" });
		expect(all.scope).toBe(scopes.join(" "));
		expect([await rename(all.access_token), await statusWith(access)]).toEqual([200, 401]);
	});

	test("of another app, a made-up one and an access token change nothing", async () => {
		const home = await world();
		const { client_id, access, refresh: token } = await granted(home);
		const other = await granted(home);
		const [, id = ""] = /^tnt_rt_([0-9a-f]{32})_/.exec(token) ?? [];
		const made = (await newRefreshToken(id)).value;
		for (const [by, value] of [
			[other.client_id, token],
			[client_id, made],
			[client_id, access],
			[client_id, `${token}x`],
			[client_id, "x"],
		] as const)
			await expect(refresh(by, value)).rejects.toMatchObject(fails("invalid_grant"));
		await expect(refresh(client_id, token, { resource: MCP })).rejects.toMatchObject(
			fails("invalid_target"),
		);
		await expect(refresh(client_id, token, { scope: "project:write" })).rejects.toMatchObject(
			fails("invalid_scope"),
		);
		expect(await statusWith(access)).toBe(200);
		expect(await statusWith((await refresh(client_id, token)).access_token)).toBe(200);
	});

	test("works for 30 days without use, an access token for an hour, neither after the grant's end or for a deactivated person", async () => {
		stopClock();
		const home = await world();
		const one = await granted(home);
		const ends_at = new Date(Date.now() + 2 * HOUR).toISOString();
		const short = await granted(home, { choice: { scopes: ["project:read"], ends_at } });
		pass(HOUR + 1);
		expect(await statusWith(one.access)).toBe(401);
		const last = await refresh(short.client_id, short.refresh);
		expect(last.expires_in).toBeLessThan(3600);
		pass(HOUR);
		expect(await statusWith(last.access_token)).toBe(401);
		const ended = refresh(short.client_id, secretsIn(last).refresh);
		await expect(ended).rejects.toMatchObject(fails("invalid_grant"));
		const next = secretsIn(await refresh(one.client_id, one.refresh));
		pass(30 * DAY + 1);
		await expect(refresh(one.client_id, next.refresh)).rejects.toMatchObject(
			fails("invalid_grant"),
		);
		await deleteOld(env, Date.now());
		expect(await grantsOf(home.owner.id)).toEqual([]);
		const other = await granted(home);
		await db.update(users).set({ is_active: false }).where(eq(users.id, home.owner.id));
		const deactivated = refresh(other.client_id, other.refresh);
		await expect(deactivated).rejects.toMatchObject(fails("invalid_grant"));
	});
});

describe("a grant", () => {
	test.each(["access", "refresh"] as const)(
		"ends when its app revokes its %s token",
		async (kind) => {
			const home = await world();
			const grant = await granted(home);
			const other = await granted(home);
			await expect(revoke(other.client_id, grant[kind])).rejects.toMatchObject(
				fails("invalid_grant"),
			);
			expect(await statusWith(grant.access)).toBe(200);
			await revoke(grant.client_id, grant[kind]);
			await revoke(grant.client_id, grant[kind]);
			expect(await statusWith(grant.access)).toBe(401);
			await expect(refresh(grant.client_id, grant.refresh)).rejects.toMatchObject(
				fails("invalid_grant"),
			);
			expect(await statusWith(other.access)).toBe(200);
		},
	);

	test("is described to its own app", async () => {
		const home = await world();
		const grant = await granted(home, { fields: { resource: MCP } });
		const { client_id, access, refresh: token } = grant;
		const described = {
			...{ active: true, client_id, scope: "project:read" },
			...{ sub: home.owner.uuid, aud: MCP, iss: "https://app.tenantry.test" },
		};
		expect(await introspect(client_id, access)).toMatchObject({
			...described,
			token_type: "Bearer",
		});
		expect(await introspect(client_id, token)).toMatchObject(described);
		await refresh(client_id, token);
		for (const [by, value] of [
			[client_id, access],
			[client_id, token],
			[newApp(), access],
			[client_id, "x"],
			[client_id, home.key],
		] as const)
			expect(await introspect(by, value)).toEqual({ active: false });
	});

	test("isn't one of the person's API keys, and its hours aren't announced", async () => {
		const home = await world();
		const { access } = await granted(home, {
			fields: { scope: "personal_api_key:read" },
			choice: { scopes: ["personal_api_key:read"] },
		});
		const { body } = await home.ask("GET", "/api/personal_api_keys");
		expect(body.count).toBe(1);
		const own = await call("GET", "/api/personal_api_keys/@current", { key: access });
		expect(own.status).toBe(404);
		const [grant] = await grantsOf(home.owner.id);
		expect((await home.ask("DELETE", `/api/personal_api_keys/${grant?.id}`)).status).toBe(404);
	});

	test("is in the log of the organization, with the app and the person", async () => {
		const home = await world();
		const { client_id, access } = await granted(home, {
			choice: { scopes: ["project:read"], scoped_organizations: [home.id] },
		});
		await revoke(client_id, access);
		const { body } = await home.here("GET", "/events?types=oauth_grant.*");
		expect(body.results).toMatchObject([
			{ type: "oauth_grant.created", data: { name: "Notes", trigger: { client_id } } },
			{ type: "oauth_grant.revoked", data: { name: "Notes", trigger: { client_id, job: "app" } } },
		]);
		for (const { actor } of body.results) expect(actor.email).toBe(home.owner.email);
	});

	test("beyond fifty of a person ends the oldest", async () => {
		const home = await world();
		const first = await granted(home);
		for (let i = 0; i < 49; i += 1) await db.batch([...insertGrant(home.owner.id, v7())]);
		expect(await statusWith(first.access)).toBe(200);
		await granted(home);
		expect(await statusWith(first.access)).toBe(401);
	});
});

test("codes are deleted an hour after they expire, and no secret is stored", async () => {
	const home = await world();
	const { code, access, refresh: token } = await granted(home);
	const stored = JSON.stringify([
		await db.select().from(oauthCodes),
		await db.select().from(oauthRefreshTokens),
		await db.select().from(personalApiKeys).where(isNotNull(personalApiKeys.client_id)),
	]);
	for (const secret of [code.get("code") ?? "", access, token])
		expect(stored).not.toContain(secret);
	const codes = () => db.select().from(oauthCodes).where(eq(oauthCodes.user_id, home.owner.id));
	await deleteOld(env, Date.now());
	expect(await codes()).toHaveLength(1);
	await deleteOld(env, Date.now() + HOUR + 61_000);
	expect(await codes()).toEqual([]);
	expect(await statusWith(access)).toBe(200);
});
