import { env, exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { call } from "../support/world.ts";

const get = (path: string, init: RequestInit = {}) =>
	exports.default.fetch(new URL(path, "https://tenantry.test"), { redirect: "manual", ...init });

const PATHS = ["/console", "/console/", "/console/keys", "/console/nowhere/at/all"];

/** What the page loads: script, style sheet, icon, and modules that are loaded in advance. */
async function assetsOf(path: string) {
	const html = await (await get(path)).text();
	return [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, asset = ""]) => asset);
}

describe.each(PATHS)("%s", (path) => {
	test("is the console's page", async () => {
		const page = await get(path);
		expect([page.status, page.headers.get("content-type")]).toEqual([
			200,
			"text/html; charset=utf-8",
		]);
		expect(await page.text()).toBe(await (await get("/console")).text());
	});

	test("is sent again only if it has changed", async () => {
		const { headers } = await get(path);
		expect(headers.get("cache-control")).toBe("public, max-age=0, must-revalidate");
		const etag = headers.get("etag") ?? "";
		const again = await get(path, { headers: { "if-none-match": etag } });
		expect([again.status, await again.text()]).toEqual([304, ""]);
	});

	test("is found by HEAD, and has no other methods", async () => {
		const page = await get(path);
		const head = await get(path, { method: "HEAD" });
		expect([head.status, await head.text()]).toEqual([200, ""]);
		for (const name of ["etag", "content-type", "content-security-policy"])
			expect(head.headers.get(name)).toBe(page.headers.get(name));
		const { status, headers, body } = await call("POST", path);
		expect([status, headers.get("allow"), body.code]).toEqual([
			405,
			"GET, HEAD",
			"method_not_allowed",
		]);
	});

	test("runs and loads nothing from elsewhere, sends nothing elsewhere, and is in no frame", async () => {
		const { headers } = await get(path);
		const policy = (headers.get("content-security-policy") ?? "").split("; ").sort();
		expect(policy).toEqual([
			"base-uri 'none'",
			"connect-src 'self'",
			"default-src 'none'",
			"form-action 'none'",
			"frame-ancestors 'none'",
			"img-src 'self' data:",
			"script-src 'self'",
			"style-src 'self'",
		]);
		expect(headers.get("referrer-policy")).toBe("no-referrer");
		expect(headers.get("x-content-type-options")).toBe("nosniff");
	});

	test("has no script and no style in itself", async () => {
		const html = await (await get(path)).text();
		expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:/i);
	});
});

test("what the console's page loads never changes, and its name changes with it", async () => {
	const assets = (await assetsOf("/console")).filter((asset) => /\.(?:js|css)$/.test(asset));
	expect(assets.length).toBeGreaterThanOrEqual(2);
	for (const asset of assets) {
		const { status, headers } = await get(asset);
		expect([asset, status, headers.get("cache-control")]).toEqual([
			asset,
			200,
			"public, max-age=31536000, immutable",
		]);
	}
});

test.each(["/console/assets/main.00000000.js", "/console/assets/nowhere.svg"])(
	"the asset %s, which doesn't exist, is a 404 that isn't kept",
	async (path) => {
		const { status, headers } = await get(path);
		expect(status).toBe(404);
		expect(headers.get("cache-control") ?? "").not.toContain("immutable");
		expect(headers.get("content-security-policy")).toContain("default-src 'none'");
	},
);

test("the console costs no trip to the database, and needs no key", async () => {
	const DB = Object.assign(Object.create(env.DB), {
		withSession: () => {
			throw new Error("The database was asked.");
		},
	});
	expect((await app.request("/console/members", {}, { ...env, DB })).status).toBe(200);
});
