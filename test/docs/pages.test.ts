import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { call } from "../support/world.ts";

const get = (path: string, init: RequestInit = {}) =>
	exports.default.fetch(new URL(path, "https://tenantry.test"), { redirect: "manual", ...init });

describe.each([
	"/docs",
	"/docs/api",
	"/docs/reference",
	"/console",
	"/console/keys",
	"/console/nowhere/at/all",
])("%s", (path) => {
	test("is sent again only if it has changed", async () => {
		const { headers } = await get(path);
		expect(headers.get("cache-control")).toBe("public, max-age=0, must-revalidate");
		const etag = headers.get("etag") ?? "";
		const again = await get(path, { headers: { "if-none-match": etag } });
		expect([again.status, await again.text()]).toEqual([304, ""]);
		expect((await get(path, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
	});

	test("is found with a slash at its end, and by HEAD", async () => {
		const page = await get(path);
		const slash = await get(`${path}/`);
		expect([slash.status, slash.headers.get("etag")]).toEqual([200, page.headers.get("etag")]);
		const head = await get(path, { method: "HEAD" });
		expect([head.status, await head.text()]).toEqual([200, ""]);
		for (const name of ["etag", "content-type", "content-security-policy"])
			expect(head.headers.get(name)).toBe(page.headers.get(name));
	});

	test("has no other methods", async () => {
		const { status, headers, body } = await call("POST", path);
		expect([status, headers.get("allow"), body.code]).toEqual([
			405,
			"GET, HEAD",
			"method_not_allowed",
		]);
	});

	test("costs no trip to the database, and needs no key", async () => {
		const DB = Object.assign(Object.create(env.DB), {
			withSession: () => {
				throw new Error("The database was asked.");
			},
		});
		const request = new Request(new URL(path, "https://tenantry.test"));
		const { status } = await app.fetch(request, { ...env, DB }, createExecutionContext());
		expect(status).toBe(200);
	});
});
