import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { describe, expect, test } from "vitest";
import type { App } from "../../src/env.ts";
import { onError } from "../../src/http/errors.ts";
import { formatJson } from "../../src/http/json.ts";
import { chooseVersion, respondInVersion } from "../../src/http/versions.ts";

const FIRST = "2026-11-21";

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
