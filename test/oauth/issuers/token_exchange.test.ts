import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { trustedIssuers } from "../../../src/db/schema/oauth.ts";
import { users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { deleteOld } from "../../../src/oauth/clean.ts";
import { connect } from "../../support/mcp.ts";
import { eventually, exhaust, stopClock } from "../../support/time.ts";
import { call, cost, db, forget, racing, times } from "../../support/world.ts";
import { API, MCP, revoke, send, server, statusWith } from "../support.ts";
import {
	exchange,
	exchangeIn,
	keyOf,
	rejected,
	type Trusting,
	trusting,
	trustingRsa,
} from "./support.ts";
import { SUBJECT } from "./tokens.ts";

const MINUTE = 60_000;

/** Lets time pass, after `stopClock`. */
const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

/** The keys that tokens were exchanged for. */
const keysOf = ({ trust }: Trusting) =>
	db.select().from(personalApiKeys).where(eq(personalApiKeys.client_id, trust.id));

describe("a job", () => {
	test("gets a key of the account for 15 minutes, with the scopes and projects of the trust", async () => {
		const home = await trusting({ scopes: ["project:read", "plugin:write"] });
		await home.here("PATCH", home.at, { body: { scoped_projects: [home.project] } });
		const token = await exchange(home.trust.id, await home.sign());
		expect(token).toEqual({
			access_token: expect.stringMatching(/^tnt_at_/),
			issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
			token_type: "bearer",
			expires_in: expect.toSatisfy((seconds: number) => seconds > 890 && seconds <= 900),
			scope: "project:read plugin:write",
		});
		const key = token.access_token;
		expect((await call("GET", "/api/users/@me", { key })).status).toBe(403);
		expect((await call("GET", `/api/projects/${home.project}`, { key })).status).toBe(200);
		const rename = { key, body: { name: "x" } };
		expect((await call("PATCH", `/api/projects/${home.project}`, rename)).body.detail).toBe(
			"API key missing required scope 'project:write'",
		);
		const [row] = await keysOf(home);
		expect(row).toMatchObject({
			label: "Deployment of main",
			scoped_organizations: [home.id],
			scoped_projects: [home.project],
			audience: "api",
		});
	});

	test("can't use the key after 15 minutes, and its row is deleted", async () => {
		stopClock();
		const home = await trusting();
		const key = await keyOf(home);
		pass(15 * MINUTE - 1);
		expect(await statusWith(key)).toBe(200);
		await deleteOld(env, Date.now());
		expect(await keysOf(home)).toHaveLength(1);
		pass(1);
		expect(await statusWith(key)).toBe(401);
		await forget(key);
		expect(await statusWith(key)).toBe(401);
		pass(1);
		await deleteOld(env, Date.now());
		expect(await keysOf(home)).toHaveLength(0);
	});

	test("can ask for less, but not for more", async () => {
		const home = await trusting({ scopes: ["project:write", "plugin:read"] });
		const less = await exchange(home.trust.id, await home.sign(), { scope: "project:read" });
		expect(less.scope).toBe("project:read");
		expect((await keysOf(home))[0]?.scopes).toEqual(["project:read"]);
		for (const scope of ["plugin:write", "project:read *", "nothing"])
			await expect(exchange(home.trust.id, await home.sign(), { scope })).rejects.toMatchObject(
				rejected("all of these scopes", "invalid_scope"),
			);
		const all = await trusting({ scopes: ["*"] });
		await expect(
			exchange(all.trust.id, await all.sign(), { scope: "nothing" }),
		).rejects.toMatchObject({ error: "invalid_scope" });
	});

	test("names the resource that the key is for, which is the API by default", async () => {
		const home = await trusting();
		const ask = async (more: Record<string, string>) =>
			(await exchange(home.trust.id, await home.sign(), more)).access_token;
		for (const more of [{ resource: MCP }, { audience: MCP }]) {
			const key = await ask(more);
			expect(await statusWith(key)).toBe(401);
			const { tool } = await connect(key);
			expect(await tool("read", { operationId: "listProjects" })).toMatchObject({ isError: false });
		}
		const key = await ask({ resource: API });
		expect(await statusWith(key)).toBe(200);
		await expect(connect(key)).rejects.toThrow();
		await expect(ask({ resource: "https://evil.test/api" })).rejects.toMatchObject({
			error: "invalid_target",
		});
	});

	test("can end its key", async () => {
		const home = await trusting();
		const [key, other] = [await keyOf(home), await keyOf(home)];
		await revoke(home.trust.id, key);
		expect([await statusWith(key), await statusWith(other)]).toEqual([401, 200]);
	});

	test("costs two round trips and few written rows, and its exchange is an event", async () => {
		const home = await trusting();
		expect((await exchangeIn({}, home)).status).toBe(200);
		const second = await exchangeIn({}, home);
		expect(second.status).toBe(200);
		expect(cost(second)).toMatchObject({ trips: 2, written: 7 });
		const { body } = await home.here("GET", "/events?types=trusted_issuer.exchanged");
		expect(body.results).toHaveLength(2);
		const keys = (await keysOf(home)).map(({ id }) => id);
		expect(keys).toContain(body.results[0].data.trigger.key_id);
		expect(body.results[0]).toMatchObject({
			actor: { type: "service_account", uuid: home.account.id },
			data: {
				item_id: home.trust.id,
				name: "Deployment of main",
				trigger: { issuer: home.url, subject: SUBJECT, scopes: ["project:read"] },
			},
		});
		const [seen] = (await home.here("GET", "/service_accounts")).body.results;
		const { last_used_at } = (await home.here("GET", home.at)).body;
		expect(last_used_at).toEqual(expect.any(String));
		expect(seen.last_used_at).toBe(last_used_at);
	});
});

test("a token that is rejected writes nothing, and isn't in the response; a right one can be exchanged twice", async () => {
	const home = await trusting({ claims: { environment: "production" } });
	for (const [claims, header, why] of [
		[{ environment: "test" }, {}, "environment is 'test'"],
		[{ environment: "production" }, { kid: "unknown" }, "(kid)"],
	] as const) {
		const token = await home.sign(claims, header);
		const rejection = await exchange(home.trust.id, token).catch((error) => error);
		expect(rejection).toMatchObject(rejected(why));
		expect(rejection.error_description).not.toContain(token.split(".").at(-1));
	}
	expect(await keysOf(home)).toEqual([]);
	const { body } = await home.here("GET", "/events?types=trusted_issuer.exchanged");
	expect(body.results).toEqual([]);
	const token = await home.sign({ environment: "production" });
	for (let i = 0; i < 2; i++)
		expect(await exchange(home.trust.id, token)).toMatchObject({ token_type: "bearer" });
});

describe("the keys of an issuer", () => {
	test("can be of RSA, but not with 1,024 bits", async () => {
		const home = await trusting();
		await home.rotate("RS256");
		expect(await statusWith(await keyOf(home))).toBe(200);
		const short = await trustingRsa({ n: `${"_".repeat(170)}8` });
		await expect(keyOf(short)).rejects.toMatchObject(rejected("key that can't be used"));
	});

	test("are fetched once, and again for a new one, but not at once", async () => {
		stopClock();
		const home = await trusting();
		await keyOf(home);
		await keyOf(home);
		expect(await home.fetches()).toBe(1);
		await home.rotate();
		await expect(keyOf(home)).rejects.toMatchObject(rejected("(kid)"));
		expect(await home.fetches()).toBe(1);
		pass(MINUTE / 2);
		expect(await statusWith(await keyOf(home))).toBe(200);
		expect(await home.fetches()).toBe(2);
	});

	test("that it no longer has don't sign", async () => {
		stopClock();
		const home = await trusting();
		const old = await home.sign();
		await home.rotate();
		await keyOf(home);
		await expect(exchange(home.trust.id, old)).rejects.toMatchObject(rejected("(kid)"));
	});

	test("are fetched at most once in 30 seconds, however many unknown keys tokens name", async () => {
		stopClock();
		const home = await trusting();
		await keyOf(home);
		pass(MINUTE / 2);
		for (const kid of ["a", "b", "c"])
			await expect(exchange(home.trust.id, await home.sign({}, { kid }))).rejects.toThrow();
		expect(await home.fetches()).toBe(2);
	});

	test("aren't fetched for a token of another issuer", async () => {
		const home = await trusting();
		await expect(exchange(home.trust.id, await home.sign({ iss: "x" }))).rejects.toThrow();
		expect(await home.fetches()).toBe(0);
	});

	test("that can't be fetched reject the token, which says why", async () => {
		const home = await trusting();
		await home.publish([{ nothing: true }]);
		await expect(keyOf(home)).rejects.toMatchObject(rejected("answered 200 without keys"));
		await db
			.update(trustedIssuers)
			.set({ issuer: `${env.RECEIVER_URL}/status/503` })
			.where(eq(trustedIssuers.id, home.trust.id));
		const token = await home.sign({ iss: `${env.RECEIVER_URL}/status/503` });
		await expect(exchange(home.trust.id, token)).rejects.toMatchObject(
			rejected("can't be fetched"),
		);
	});

	test("aren't fetched from private hosts or without https, unless that is allowed", async () => {
		const home = await trusting();
		const { status, body } = await exchangeIn({ ALLOW_PRIVATE_DESTINATIONS: "" }, home);
		expect(status).toBe(400);
		expect(body.error_description).toContain("can't be fetched");
		expect(await home.fetches()).toBe(0);
	});
});

describe("no key is given", () => {
	test("for an unknown client_id", async () => {
		const home = await trusting();
		for (const client_id of [v7(), home.account.id, "x"])
			await expect(exchange(client_id, await home.sign())).rejects.toMatchObject({
				error: "invalid_client",
			});
	});

	test("of another organization's account: the trust decides whose key it is", async () => {
		const [home, other] = [await trusting(), await trusting()];
		await expect(exchange(other.trust.id, await home.sign())).rejects.toMatchObject(
			rejected("another issuer"),
		);
		const key = await keyOf(home);
		expect((await call("GET", `/api/projects/${other.project}`, { key })).status).toBe(404);
	});

	test("if the account was deleted or deactivated, and none works then", async () => {
		const [home, other] = [await trusting(), await trusting()];
		const [key, its] = [await keyOf(home), await keyOf(other)];
		expect((await home.here("DELETE", `/service_accounts/${home.account.id}`)).status).toBe(204);
		await db.update(users).set({ is_active: false }).where(eq(users.uuid, other.account.id));
		expect([await statusWith(key), await statusWith(its)]).toEqual([401, 401]);
		for (const each of [home, other])
			await expect(keyOf(each)).rejects.toMatchObject({ error: "invalid_client" });
	});

	test("if the trust is deleted meanwhile", async () => {
		const home = await trusting();
		const { status, body } = await exchangeIn(
			racing(() => home.here("DELETE", home.at)),
			home,
		);
		expect([status, body.error]).toEqual([400, "invalid_client"]);
		expect(await keysOf(home)).toEqual([]);
	});

	test.each([
		["subject", { subject: "someone else" }],
		["claims", { claims: { ref: "x" } }],
		["audience", { audience: "other" }],
	])("under the old rules if the %s is changed meanwhile", async (_, body) => {
		const home = await trusting();
		const response = await exchangeIn(
			racing(() => home.here("PATCH", home.at, { body })),
			home,
		);
		expect(response).toMatchObject({ status: 400, body: { error: "invalid_request" } });
		expect(await keysOf(home)).toEqual([]);
	});

	test("beyond 100 that work, also in a race", async () => {
		const home = await trusting();
		const { id } = (await db.select().from(users).where(eq(users.uuid, home.account.id)))[0] ?? {};
		const fill = (expires_at: string, n: number) =>
			times(n, () =>
				db.insert(personalApiKeys).values({
					...{ user_id: id ?? 0, label: "x", hash: v7(), mask_value: "x", scopes: ["*"] },
					...{ client_id: home.trust.id, audience: "api", expires_at },
				}),
			);
		await fill("2020-01-01T00:00:00.000Z", 30);
		await fill("2099-01-01T00:00:00.000Z", 96);
		const results = await Promise.all(Array.from({ length: 8 }, () => exchangeIn({}, home)));
		const statuses = results.map(({ status }) => status);
		expect(statuses.filter((status) => status === 200)).toHaveLength(4);
		expect(new Set(statuses)).toEqual(new Set([200, 429]));
		expect(results.find(({ status }) => status === 429)?.body).toMatchObject({
			error: "temporarily_unavailable",
			error_description: "This issuer already has 100 active keys. Wait until one expires.",
		});
		expect(await keysOf(home)).toHaveLength(130);
	});
});

test("a trusted issuer has a limit of exchanges in a minute, which rejected tokens can't use up", async () => {
	const home = await trusting();
	await eventually(async () => {
		await exchangeIn({}, { ...home, sign: async () => "a.b.signature" });
		expect(await exhaust(env.REQUESTS, home.trust.id)).toBe(480);
		expect((await exchangeIn({}, home)).status).toBe(429);
	});
});

test("a lower level of the account, or fewer projects, apply to the keys at once", async () => {
	const home = await trusting({ scopes: ["*"] }, 8);
	const key = await keyOf(home);
	const list = () => call("GET", `/api/organizations/${home.id}/service_accounts`, { key });
	expect((await list()).status).toBe(200);
	const body = { level: 1 };
	await home.here("PATCH", `/service_accounts/${home.account.id}`, { body });
	expect((await list()).status).toBe(403);
});

test("a key for a job can't give itself, or anything else, a longer life", async () => {
	const home = await trusting({ scopes: ["*"] }, 8);
	const key = await keyOf(home);
	const under = `/api/organizations/${home.id}/service_accounts/${home.account.id}`;
	const bodies = {
		"/keys": { label: "x", scopes: ["project:read"] },
		"/trusted_issuers": { name: "x", issuer: home.url, subject: "x", scopes: ["project:read"] },
	};
	for (const [path, body] of Object.entries(bodies))
		expect(await call("POST", `${under}${path}`, { key, body })).toMatchObject({ status: 403 });
	const trusted = `${under}/trusted_issuers/${home.trust.id}`;
	const change = { key, body: { subject: "someone else" } };
	expect(await call("PATCH", trusted, change)).toMatchObject({ status: 403 });
});

describe("a request", () => {
	const complete = async ({ trust, sign }: Trusting) => ({
		grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
		client_id: trust.id,
		subject_token: await sign(),
		subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
		requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
	});
	const post = (fields: Record<string, string>) =>
		send("POST", "/oauth/token", new URLSearchParams(fields));

	test("works with an ID token, and names the grant type that the metadata has", async () => {
		const fields = await complete(await trusting());
		expect((await server()).grant_types_supported).toContain(fields.grant_type);
		expect((await post(fields)).status).toBe(200);
	});

	test("is rejected if a parameter is missing or isn't supported", async () => {
		const fields = await complete(await trusting());
		for (const change of [
			{ client_id: "" },
			{ subject_token: "" },
			{ subject_token_type: "" },
			{ subject_token_type: "urn:ietf:params:oauth:token-type:saml2" },
			{ requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" },
			{ actor_token: "x" },
		]) {
			const response = await post({ ...fields, ...change });
			const { error } = await response.json<{ error: string }>();
			expect([change, response.status, error]).toEqual([change, 400, "invalid_request"]);
		}
	});

	test("that is rejected counts against the limit of its IP address", async () => {
		const home = await trusting();
		const address = v7();
		const fail = () => exchangeIn({}, { ...home, sign: async () => "a.b.signature" }, address);
		await eventually(async () => {
			await exhaust(env.AUTH_FAILURES, address);
			expect((await fail()).status).toBe(429);
		});
	});
});
