import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { CURRENT_VERSION, VERSIONS } from "../../src/http/versions.ts";
import { digest } from "../../src/keys/keys.ts";
import { call, db, forget, world } from "../support/world.ts";

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
		const chosen = { "tenantry-version": "2026-11-21" };
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
