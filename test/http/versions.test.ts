import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { describe, expect, test } from "vitest";
import { digest } from "../../src/auth/keys.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import type { App } from "../../src/env.ts";
import { onError } from "../../src/http/errors.ts";
import { formatJson } from "../../src/http/json.ts";
import {
	CURRENT_VERSION,
	chooseVersion,
	respondInVersion,
	VERSIONS,
} from "../../src/http/versions.ts";
import { call, db, forget, world } from "../support/world.ts";

const FIRST = "2026-11-21";

describe("the version of a request", () => {
	test("is named in every response, also in rejections", async () => {
		const home = await world();
		for (const response of [
			await home.ask("GET", "/api/projects"),
			await home.ask("POST", "/api/projects", { body: {} }),
			await call("GET", "/api/projects"),
			await call("GET", "/"),
			await home.ask("GET", "/api/nothing"),
		])
			expect(response.headers.get("tenantry-version")).toBe(CURRENT_VERSION);
	});

	test("that doesn't exist is a 400, once the key is known to work", async () => {
		const home = await world();
		const headers = { "tenantry-version": "2026-11-22" };
		const response = await home.ask("GET", "/api/projects", { headers });
		expect([response.status, response.body]).toEqual([
			400,
			{
				type: "invalid_request",
				code: "unknown_version",
				detail: "Tenantry-Version is not a version of this API.",
				attr: null,
				choices: VERSIONS.map(({ date }) => date),
			},
		]);
		expect((await call("GET", "/api/projects", { headers })).status).toBe(401);
		const chosen = { "tenantry-version": FIRST };
		expect((await home.ask("GET", "/api/projects", { headers: chosen })).status).toBe(200);
	});

	test("is kept with a key when that is made, in D1 and in KV", async () => {
		const home = await world();
		const { body } = await home.ask("POST", "/api/personal_api_keys", {
			body: { label: "x", scopes: ["*"] },
		});
		const hash = await digest(body.value);
		expect(await env.KEYS.get(`key:${hash}`, "json")).toMatchObject({ version: CURRENT_VERSION });
		const [row] = await db.select().from(personalApiKeys).where(eq(personalApiKeys.hash, hash));
		expect(row?.version).toBe(CURRENT_VERSION);
		await env.KEYS.delete(`key:${hash}`);
		await forget(body.value);
		await call("GET", "/api/projects", { key: body.value });
		expect(await env.KEYS.get(`key:${hash}`, "json")).toMatchObject({ version: CURRENT_VERSION });
	});
});

describe("with a second version", () => {
	const versions = [
		{
			date: "2028-02-29",
			downgrade: { "GET /things/:id": (body: object) => ({ ...body, old: 2 }) },
		},
		{
			date: "2027-01-31",
			downgrade: { "GET /things/:id": (body: object) => ({ ...body, old: 1 }) },
		},
		{ date: FIRST },
	];
	const app = new Hono<App>();
	/** A key that was made with the version that this header names. */
	const withKey = createMiddleware<App>(async (c, next) => {
		const version = c.req.header("x-key-version");
		const lists = { scopes: [], organizations: [], projects: [], allowed_ips: [] };
		const key = { id: "", user_id: 1, hash: "", ...lists };
		if (version !== undefined)
			c.set("key", { ...key, expires_at: null, ...(version && { version }) });
		await next();
	});
	app.use(formatJson, respondInVersion(versions), withKey, chooseVersion(versions));
	app
		.get("/things/:id", (c) => c.json({ id: c.req.param("id") }))
		.get("/others", (c) => c.json({ others: [] }))
		.onError(onError(() => undefined));
	const ask = async (path: string, version: string, name = "tenantry-version") => {
		const response = await app.request(path, { headers: { [name]: version } });
		return { headers: response.headers, body: await response.json() };
	};

	test("today's responses are turned into those of older versions, step by step, newest first", async () => {
		expect((await ask("/things/7", "2028-02-29")).body).toEqual({ id: "7" });
		expect((await ask("/things/7", "2027-01-31")).body).toEqual({ id: "7", old: 2 });
		expect((await ask("/things/7", FIRST)).body).toEqual({ id: "7", old: 1 });
		expect((await ask("/others", FIRST)).body).toEqual({ others: [] });
	});

	test("a request that chooses none gets the version that its key was made with", async () => {
		for (const [made, served] of [
			["2028-02-29", "2028-02-29"],
			["2027-01-31", "2027-01-31"],
			// The records of keys from before there were versions.
			["", FIRST],
			["2020-01-01", FIRST],
		] as const) {
			const { headers } = await ask("/others", made, "x-key-version");
			expect([made, headers.get("tenantry-version")]).toEqual([made, served]);
		}
		expect((await ask("/things/7", FIRST, "x-key-version")).body).toEqual({ id: "7", old: 1 });
	});

	test("older versions say since when they are deprecated, and until when they are served: twelve months", async () => {
		const { headers } = await ask("/others", FIRST);
		expect(headers.get("deprecation")).toBe(`@${Date.UTC(2027, 0, 31) / 1000}`);
		expect(headers.get("sunset")).toBe("Mon, 31 Jan 2028 00:00:00 GMT");
		const newest = await ask("/others", "2028-02-29");
		expect(newest.headers.has("deprecation")).toBe(false);
		expect(newest.headers.has("sunset")).toBe(false);
	});
});
