import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { users } from "../../src/db/schema/people.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { keyCache } from "../../src/keys/key_cache.ts";
import { digest, newValue } from "../../src/keys/keys.ts";
import {
	complete,
	cookieOf,
	keysOf,
	linkFor,
	ofPage,
	signIn,
	verified,
} from "../sign_in/link/support.ts";
import { exhaust } from "../support/time.ts";
import { call, cost, db, keyFor, world } from "../support/world.ts";

const HOUR = 60 * 60_000;
const OWN = "https://tenantry.test";
const ME = "/api/users/@me";

const cookie = (value: string) => ({ cookie: `__Host-tenantry=${value}` });

/** A session, and the statuses of a read and a change with its cookie and these headers. */
async function started() {
	const { value } = await signIn(await verified());
	const both = async (headers: Record<string, string>, path = ME) => {
		const sent = { ...cookie(value), ...headers };
		const read = await call("GET", path, { headers: sent });
		const change = await call("PATCH", path, { headers: sent, body: { first_name: "Ada" } });
		return [read.status, change.status];
	};
	return { value, both };
}

test("the cookie works for pages of this service", async () => {
	const { both } = await started();
	expect(await both({ "sec-fetch-site": "same-origin" })).toEqual([200, 200]);
	expect(await both({ "sec-fetch-site": "same-origin", origin: OWN })).toEqual([200, 200]);
	// Browsers without Sec-Fetch-Site send an Origin with each change.
	expect(await both({ origin: OWN })).toEqual([200, 200]);
	expect(await both({ origin: "https://app.tenantry.test" })).toEqual([200, 200]);
});

test("the cookie works for no other page, and changes nothing without proof of the origin", async () => {
	const { both } = await started();
	for (const site of ["cross-site", "same-site", "none, same-origin", "SAME-ORIGIN"])
		expect(await both({ "sec-fetch-site": site, origin: OWN })).toEqual([401, 401]);
	for (const origin of [
		...["null", "https://evil.test", "http://tenantry.test", "https://tenantry.test:8443"],
		...["https://tenantry.test.evil.test", "https://a.tenantry.test", `${OWN}, https://evil.test`],
	])
		expect(await both({ origin })).toEqual([401, 401]);
	// An opened URL, and a program or an old browser's navigation.
	expect(await both({ "sec-fetch-site": "none" })).toEqual([200, 401]);
	expect(await both({})).toEqual([200, 401]);
	expect(await both({ referer: `${OWN}/console` })).toEqual([200, 401]);
});

test("nothing else in a request of another page makes the cookie work", async () => {
	const { value, both } = await started();
	const site = { "sec-fetch-site": "cross-site" };
	for (const headers of [
		{ "x-http-method-override": "GET" },
		{ "x-requested-with": "XMLHttpRequest" },
		{ "x-forwarded-host": "evil.test" },
		{ "content-type": "text/plain" },
	])
		expect(await both({ ...site, ...headers })).toEqual([401, 401]);
	for (const query of ["_method=GET", `__Host-tenantry=${value}`, `key=${value}`])
		expect(await both(site, `${ME}?${query}`)).toEqual([401, 401]);
	const form = await call("POST", "/api/personal_api_keys", {
		headers: {
			...{ ...cookie(value), origin: "https://evil.test" },
			"content-type": "application/x-www-form-urlencoded",
		},
		raw: "label=x&scopes=*",
	});
	expect(form.status).toBe(401);
});

test("only one cookie with the exact name counts", async () => {
	const { value } = await started();
	const statusWith = async (header: string) => {
		const headers = { cookie: header, "sec-fetch-site": "same-origin" };
		return (await call("GET", ME, { headers })).status;
	};
	expect(await statusWith(`a=b;__Host-tenantry=${value} ;c=d`)).toBe(200);
	for (const header of [
		`__Host-tenantry=${value}; __Host-tenantry=${value}`,
		`__Host-tenantry=${newValue()}; __Host-tenantry=${value}`,
		`tenantry=${value}`,
		`__host-tenantry=${value}`,
		`x__Host-tenantry=${value}`,
		`__Host-tenantry="${value}"`,
		`__Host-tenantry=Bearer ${value}`,
		"__Host-tenantry=",
	])
		expect([header, await statusWith(header)]).toEqual([header, 401]);
});

test("a key in the header comes first, also if it is invalid", async () => {
	const { value } = await started();
	const user = await verified();
	const headers = ofPage(value);
	expect((await call("GET", ME, { key: user.key, headers })).body.email).toBe(user.email);
	for (const authorization of [`Bearer ${newValue()}`, "Bearer", "Basic x"])
		expect((await call("GET", ME, { headers: { ...headers, authorization } })).status).toBe(401);
});

test("on a local server without https, the cookie has no prefix, and others ports are other origins", async () => {
	for (const origin of ["http://localhost:8787", "http://127.0.0.1:8787", "http://[::1]:8787"]) {
		const body = { token: await linkFor(await verified()) };
		const url = (path: string) => `${origin}${path}`;
		const { name, value, attributes } = cookieOf(
			await call("POST", url("/api/sign_in/complete"), { body }),
		);
		expect([name, attributes]).toEqual(["tenantry", expect.not.arrayContaining(["Secure"])]);
		const statusWith = async (headers: Record<string, string>) =>
			(await call("POST", url("/api/organizations"), { headers, body: {} })).status;
		expect(await statusWith({ cookie: `tenantry=${value}`, origin })).toBe(400);
		expect(await statusWith({ cookie: `__Host-tenantry=${value}`, origin })).toBe(401);
		const other = origin.replace("8787", "9000");
		expect(await statusWith({ cookie: `tenantry=${value}`, origin: other })).toBe(401);
	}
	// Elsewhere, http gets a cookie that browsers keep only on https: a proxy may be in front.
	const body = { token: await linkFor(await verified()) };
	const { name } = cookieOf(
		await call("POST", "http://tenantry.test/api/sign_in/complete", { body }),
	);
	expect(name).toBe("__Host-tenantry");
});

test("scripts of other origins can't send the cookie, even where CORS allows them", async () => {
	const { value } = await started();
	for (const CORS_ORIGINS of ["*", "https://partner.test"]) {
		const origin = "https://partner.test";
		const preflight = await app.fetch(
			new Request(`${OWN}${ME}`, {
				method: "OPTIONS",
				headers: { origin, "access-control-request-method": "PATCH" },
			}),
			{ ...env, CORS_ORIGINS },
			createExecutionContext(),
		);
		const headers = { ...cookie(value), origin, "sec-fetch-site": "cross-site" };
		const response = await call("GET", ME, { headers, env: { CORS_ORIGINS } });
		expect(response.status).toBe(401);
		for (const each of [preflight, response]) {
			expect(each.headers.get("access-control-allow-origin")).not.toBeNull();
			expect(each.headers.get("access-control-allow-credentials")).toBeNull();
		}
	}
});

test("the MCP endpoint takes no cookie", async () => {
	const { value } = await started();
	const request = new Request(`${OWN}/mcp`, {
		method: "POST",
		headers: {
			...{ ...ofPage(value), origin: "https://app.tenantry.test" },
			...{ accept: "application/json, text/event-stream", "content-type": "application/json" },
		},
		body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
	});
	expect((await exports.default.fetch(request)).status).toBe(401);
});

test("the record of a session in KV can expire before the session does", async () => {
	const { value, id } = await signIn(await verified());
	const expires_at = new Date(Date.now() + HOUR).toISOString();
	const hash = await digest(value);
	const record = await env.KEYS.get(`key:${hash}`, "json");
	keyCache.delete(hash);
	const old = { ...Object(record), expires_at: new Date(Date.now() - 1).toISOString() };
	await env.KEYS.put(`key:${hash}`, JSON.stringify(old));
	await db.update(personalApiKeys).set({ expires_at }).where(eq(personalApiKeys.id, id));
	const address = v7();
	const headers = { ...ofPage(value), "cf-connecting-ip": address };
	const read = () => call("GET", ME, { headers });
	// Also where the address has used up its failures, because this isn't one.
	await exhaust(env.AUTH_FAILURES, address);
	expect((await read()).status).toBe(200);
	expect(await env.KEYS.get(`key:${hash}`, "json")).toMatchObject({ expires_at });
	expect(cost(await read()).trips).toBe(1);
});

const KEY = "/api/sign_in/key";

test("a key signs in: the cookie has its value, and lasts as long as it", async () => {
	const home = await world();
	const lasting = await call("POST", KEY, { key: home.key });
	expect([lasting.status, lasting.body]).toEqual([204, null]);
	const forever = cookieOf(lasting);
	expect([forever.value, forever.attributes.toSorted()]).toEqual([
		home.key,
		["HttpOnly", "Path=/", "SameSite=Lax", "Secure"],
	]);
	const scopes = ["user:read"];
	const expires_at = new Date(Date.now() + HOUR).toISOString();
	const short = await keyFor(home.owner.id, { scopes, expires_at });
	const { value, attributes } = cookieOf(await call("POST", KEY, { key: short }));
	const [, seconds] = /Max-Age=(\d+)/.exec(attributes.join()) ?? [];
	expect(Number(seconds)).toBeLessThanOrEqual(3600);
	expect(Number(seconds)).toBeGreaterThan(3000);
	const statusOf = async (method: string) =>
		(await call(method, ME, { headers: ofPage(value), ...(method === "PATCH" && { body: {} }) }))
			.status;
	// Its restrictions stay, and revoking it ends what it signed in.
	expect([await statusOf("GET"), await statusOf("PATCH")]).toEqual([200, 403]);
	await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(short)));
	expect(await statusOf("GET")).toBe(401);
});

test("what isn't a valid key in the header sets no cookie", async () => {
	const user = await verified();
	const { value } = await started();
	await db.update(users).set({ is_active: false }).where(eq(users.id, user.id));
	const elsewhere = await keyFor((await verified()).id, { allowed_ips: ["192.0.2.1/32"] });
	for (const [status, options] of [
		[401, {}],
		[401, { headers: ofPage(value) }],
		[401, { key: newValue() }],
		[401, { key: user.key }],
		[403, { key: elsewhere }],
	] as const) {
		const response = await call("POST", KEY, options);
		expect([response.status, response.headers.getSetCookie()]).toEqual([status, []]);
	}
});

test("a page of another origin can neither sign in nor out", async () => {
	const user = await verified();
	const { value, id } = await signIn(user);
	for (const headers of [
		{ "sec-fetch-site": "cross-site" },
		{ "sec-fetch-site": "same-site", origin: OWN },
		{ origin: "null" },
		{ origin: "https://evil.test" },
	]) {
		const sent = { ...cookie(value), ...headers };
		const token = await linkFor(user);
		for (const response of [
			await complete({ token }, { headers: sent }),
			await call("POST", KEY, { key: user.key, headers }),
			await call("POST", "/api/sign_in/end", { headers: sent }),
		])
			expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
	}
	expect((await call("POST", "/api/sign_in/end", { headers: cookie(value) })).status).toBe(403);
	expect((await keysOf(user)).map((key) => key.id)).toContain(id);
});

test("signing out ends the session, once, and keeps a key", async () => {
	const { owner, key, here } = await world();
	await db.update(users).set({ is_email_verified: true }).where(eq(users.id, owner.id));
	const { value, id } = await signIn(owner);
	const end = (given: string) => call("POST", "/api/sign_in/end", { headers: ofPage(given) });
	const answers = await Promise.all(Array.from({ length: 5 }, () => end(value)));
	expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(204));
	// One that loses the race reads again.
	expect(Math.max(...answers.map((answer) => cost(answer).trips))).toBeLessThanOrEqual(3);
	const { body } = await here("GET", "/activity_log?scope=Session&activity=deleted");
	expect(body.results).toMatchObject([
		{ item_id: id, user: { uuid: owner.uuid }, detail: { trigger: { job: "sign_out" } } },
	]);
	for (const given of [key, newValue(), "", "x"]) expect(cookieOf(await end(given)).value).toBe("");
	expect((await call("GET", ME, { key })).status).toBe(200);
});
