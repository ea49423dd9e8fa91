import { exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";

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
		expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
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
