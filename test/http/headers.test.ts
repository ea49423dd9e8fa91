import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { REQUESTS } from "../../src/http/rate_limit.ts";
import config from "../../wrangler.toml?raw";
import { call, furnished, world } from "../support/world.ts";

const helpOf = ({ headers }: { headers: Headers }) =>
	/<\/docs\/api#([\w-]+)>; rel="help"/.exec(headers.get("link") ?? "")?.[1];

describe("every rejection links to its code in the documentation", () => {
	test("whatever rejects it", async () => {
		const home = await furnished();
		const domains = `/api/organizations/${home.id}/domains`;
		for (const [response, code] of [
			[await call("GET", "/api/organizations"), "not_authenticated"],
			[await call("GET", "/api/organizations", { key: "x" }), "authentication_failed"],
			[await home.ask("GET", "/api/nothing"), "not_found"],
			[await home.ask("PUT", domains), "method_not_allowed"],
			[await home.ask("POST", domains, { body: {} }), "required"],
			[await home.ask("POST", domains, { raw: "{" }), "unsupported_media_type"],
			[
				await home.ask("DELETE", `${domains}/${home.domain}`, { headers: { "if-match": '"x"' } }),
				"precondition_failed",
			],
		] as const) {
			expect(response.body.code).toBe(code);
			expect(helpOf(response)).toBe(code);
		}
	});
});

describe("a rejection of a choice says which choices there are", () => {
	test("in bodies, queries and nested fields", async () => {
		const home = await furnished();
		const batchExports = `/api/organizations/${home.id}/batch_exports`;
		const destination = { type: "NoOp", config: {} };
		for (const [response, choices] of [
			[
				await home.ask("POST", batchExports, { body: { name: "x", destination, interval: "x" } }),
				["hour", "day", "week", "every 5 minutes", "every 15 minutes"],
			],
			[
				await home.ask("PATCH", `/api/organizations/${home.id}/members/${home.member}`, {
					body: { level: 7 },
				}),
				[1, 8, 15],
			],
			[
				await home.ask("GET", `${batchExports}/${home.batch_export}/logs?level=x`),
				["DEBUG", "INFO", "WARNING", "ERROR"],
			],
		] as const) {
			expect([response.status, response.body.code]).toEqual([400, "invalid_choice"]);
			expect(response.body.detail).toMatch(/^"\w+" is not a valid choice\.$/);
			expect(response.body.choices).toEqual(choices);
		}
		const other = await home.ask("POST", batchExports, {
			body: { name: "x", destination: { type: "x" }, interval: "hour" },
		});
		expect(other.body).toMatchObject({ attr: "destination__type", code: "invalid_choice" });
		expect(other.body.choices).toContain("S3");
	});
});

test("what isn't an object or a page may not be stored", async () => {
	const home = await furnished();
	for (const response of [
		await home.ask("POST", "/api/projects", { body: { name: "x" } }),
		await home.ask("PATCH", `/api/projects/${home.project}`, { body: { name: "x" } }),
		await home.ask("GET", "/api/nothing"),
		await call("GET", "/api/projects"),
	]) {
		expect(response.headers.get("cache-control")).toBe("no-store");
		expect(response.headers.has("etag")).toBe(false);
		expect(response.headers.get("vary")).toMatch(/Authorization/);
	}
});

test("a response names the rate limit of wrangler.toml", async () => {
	expect(config).toContain(`simple = { limit = ${REQUESTS.limit}, period = ${REQUESTS.period} }`);
	const { headers } = await (await world()).ask("GET", "/api/projects");
	expect(headers.get("ratelimit-policy")).toBe('"requests";q=480;w=60');
	expect(headers.has("ratelimit")).toBe(false);
});

test("scripts of other origins may send and read the headers", async () => {
	const CORS = { CORS_ORIGINS: "https://app.example.com" };
	const origin = "https://app.example.com";
	const asked = "idempotency-key,if-match,if-none-match,tenantry-version";
	const preflight = await app.fetch(
		new Request("https://tenantry.test/api/projects", {
			method: "OPTIONS",
			headers: {
				origin,
				"access-control-request-method": "POST",
				"access-control-request-headers": asked,
			},
		}),
		{ ...env, ...CORS },
		createExecutionContext(),
	);
	expect(preflight.status).toBe(204);
	expect(preflight.headers.get("access-control-allow-headers")).toBe(asked);
	const home = await world();
	const response = await home.ask("GET", "/api/projects", { env: CORS, headers: { origin } });
	const exposed = response.headers.get("access-control-expose-headers") ?? "";
	for (const name of [
		"ETag",
		"Idempotency-Replayed",
		"RateLimit-Policy",
		"Tenantry-Version",
		"Link",
		"WWW-Authenticate",
	])
		expect(exposed).toContain(name);
	expect(response.headers.get("vary")).toMatch(/Origin/);
	expect(response.headers.get("vary")).toMatch(/Tenantry-Version/);
});
