import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { mergePath } from "hono/utils/url";
import { expect, test, vi } from "vitest";
import contract from "../docs/contract.txt?raw";
import { scopeFor } from "../src/access/scopes.ts";
import { app, families, publicRoutes } from "../src/app.ts";
import { indent } from "../src/http/json.ts";
import { operationOf } from "../src/http/router.ts";
import { loadRoutes, type Row } from "../src/mount.ts";
import { eventually } from "./support/time.ts";
import { call, withBatch, world } from "./support/world.ts";

const sorted = (lines: Iterable<string>) => [...new Set(lines)].sort();

test("the application has exactly the routes of the contract, with these scopes", async () => {
	const lines = contract.matchAll(/^([A-Z]+ \S+) \w+ \d{3}\b.*?(?: scope=(\S+))?$/gm);
	const rows: Row[] = [...families, ...publicRoutes];
	const served = await Promise.all(
		rows.map(async (row) => {
			const { routes } = await loadRoutes(row);
			const chains = Map.groupBy(routes, ({ method, path }) => `${method} ${row.path}${path}`);
			return [...chains.values()].flatMap((chain) => {
				const [{ method, path } = { method: "ALL", path: "" }] = chain;
				if (method === "ALL") return [];
				const whole = mergePath(row.path, path);
				const below = whole.replace(/\{[^}]*\}/g, "").replace(/(.)\/$/, "$1");
				const { scope: own } = operationOf(chain);
				const scope = "object" in row ? ` ${scopeFor(row.object, method, own)}` : "";
				return `${method} ${below.replace(/:(\w+)/g, "{$1}")}${scope}`;
			});
		}),
	);
	expect(sorted(served.flat())).toEqual(
		sorted(Array.from(lines, ([, title, scope]) => [title, ...(scope ? [scope] : [])].join(" "))),
	);
});

test("every path works with and without its trailing slash, for every method", async () => {
	const { ask } = await world();
	for (const slash of ["", "/"]) {
		const { status, body } = await ask("POST", `/api/organizations${slash}`, {
			body: { name: "Slash" },
		});
		expect(status).toBe(201);
		expect((await ask("GET", `/api/organizations/${body.id}${slash}`)).status).toBe(200);
		expect(
			(
				await ask("PATCH", `/api/organizations/${body.id}${slash}`, {
					body: { name: "S" },
				})
			).status,
		).toBe(200);
		expect((await ask("DELETE", `/api/organizations/${body.id}${slash}`)).status).toBe(204);
	}
});

test("an unknown path is a 404, an unknown method a 405 with Allow", async () => {
	const { ask, id } = await world();
	expect(await ask("GET", "/nowhere")).toMatchObject({
		status: 404,
		body: {
			type: "invalid_request",
			code: "not_found",
			detail: "Endpoint not found.",
			attr: null,
		},
	});
	expect((await ask("GET", `/api/organizations/${id}/nowhere/`)).body.detail).toBe(
		"Endpoint not found.",
	);
	const put = await ask("PUT", `/api/organizations/${id}/`, { body: {} });
	expect(put).toMatchObject({
		status: 405,
		body: {
			type: "invalid_request",
			code: "method_not_allowed",
			detail: 'Method "PUT" not allowed.',
			attr: null,
		},
	});
	expect(put.headers.get("allow")).toBe("GET, HEAD, PATCH, DELETE");
});

test("the service reports its name, version, documentation and health", async () => {
	expect((await call("GET", "/")).body).toEqual({
		name: "Tenantry",
		version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
		documentation: "https://tenantry.test/openapi.json",
	});
	expect(await call("GET", "/healthz")).toMatchObject({
		status: 200,
		body: { d1: true, kv: true, migrations: true },
	});
});

test("the OpenAPI document is sent once: its ETag answers 304", async () => {
	const { status, headers, body } = await call("GET", "/openapi.json");
	expect([status, body.openapi]).toEqual([200, "3.1.0"]);
	const etag = headers.get("etag") ?? "";
	expect(etag).toMatch(/^(W\/)?"/);
	const again = await call("GET", "/openapi.json", { headers: { "if-none-match": etag } });
	expect([again.status, again.body]).toEqual([304, null]);
});

test("every response has a request id: the caller’s if it is plausible", async () => {
	const given = await call("GET", "/", {
		headers: { "x-request-id": "mine-1" },
	});
	expect(given.headers.get("x-request-id")).toBe("mine-1");
	const odd = await call("GET", "/nowhere", {
		headers: { "x-request-id": "a b <script>" },
	});
	expect(odd.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
});

test("other origins are rejected, and responses have security headers", async () => {
	const { headers } = await call("GET", "/", {
		headers: { origin: "https://elsewhere.test" },
	});
	expect(headers.get("access-control-allow-origin")).toBeNull();
	expect(headers.get("x-content-type-options")).toBe("nosniff");
	expect(headers.get("strict-transport-security")).toContain("max-age");
	// This one concerns pages.
	expect(headers.get("cross-origin-opener-policy")).toBeNull();
});

test("CORS_ORIGINS allows its origins", async () => {
	const ask = (origins: string, origin: string) =>
		app.fetch(
			new Request("https://tenantry.test/", { method: "OPTIONS", headers: { origin } }),
			{ ...env, CORS_ORIGINS: origins },
			createExecutionContext(),
		);
	const allowed = async (origins: string, origin: string) =>
		(await ask(origins, origin)).headers.get("access-control-allow-origin");
	expect(await allowed("https://a.test, https://b.test", "https://b.test")).toBe("https://b.test");
	expect(await allowed("https://a.test", "https://b.test")).toBeNull();
	expect(await allowed("*", "https://b.test")).toBe("*");
	expect(await allowed("", "https://b.test")).toBeNull();
});

test("without a key, an unknown path below /api is a 401", async () => {
	expect((await call("GET", "/api/nowhere")).status).toBe(401);
});

test("/healthz reports which service does not answer", async () => {
	const get = () => Promise.reject(new Error("KV is away"));
	const KEYS: KVNamespace = Object.assign(Object.create(env.KEYS), { get });
	const { status, headers, body } = await call("GET", "/healthz", { env: { KEYS } });
	expect([status, headers.get("retry-after")]).toEqual([503, "60"]);
	expect(body).toEqual({ d1: true, kv: false, migrations: true });
});

test("/healthz reports a missing migration, and a database that does not answer", async () => {
	const newest = await env.DB.prepare(
		"select * from d1_migrations order by id desc limit 1",
	).first();
	await env.DB.prepare("delete from d1_migrations where id = ?").bind(newest?.id).run();
	expect(await call("GET", "/healthz")).toMatchObject({
		status: 503,
		body: { d1: true, kv: true, migrations: false },
	});
	await env.DB.prepare("insert into d1_migrations (name) values (?)").bind(newest?.name).run();
	const away = withBatch(() => Promise.reject(new Error("D1 is away")));
	expect(await call("GET", "/healthz", { env: away })).toMatchObject({
		status: 503,
		body: { d1: false, kv: true, migrations: false },
	});
});

test("JSON responses end in a newline; ?pretty indents them and keeps every digit", async () => {
	const { key } = await world('{"a": [1, {}], "b": "\\"}');
	const text = async (path: string) => {
		const headers = { authorization: `Bearer ${key}` };
		const url = new URL(path, "https://tenantry.test");
		return (await exports.default.fetch(url, { headers })).text();
	};
	const plain = await text("/api/organizations/@current");
	expect(plain).toMatch(/^\{"id":.*\}\n$/);
	expect(await text("/api/organizations/@current?pretty")).toBe(
		`${JSON.stringify(JSON.parse(plain), null, 2)}\n`,
	);
	const page = "/api/organizations/?limit=1&pretty=1";
	expect(await text(page)).toBe(
		`${JSON.stringify(JSON.parse(await text("/api/organizations/?limit=1")), null, 2)}\n`,
	);
	expect(indent('{"n":12345678901234567890.10,"e":[],"o":{}}')).toBe(
		'{\n  "n": 12345678901234567890.10,\n  "e": [],\n  "o": {}\n}',
	);
});

test("a response that is repeated has the same bytes as the first", async () => {
	const { key } = await world();
	const create = async () => {
		const response = await exports.default.fetch(
			"https://tenantry.test/api/organizations/?pretty",
			{
				method: "POST",
				headers: {
					authorization: `Bearer ${key}`,
					"content-type": "application/json",
					"idempotency-key": "twice",
				},
				body: '{"name": "Acme"}',
			},
		);
		return { replayed: response.headers.get("idempotency-replayed"), text: await response.text() };
	};
	const first = await create();
	expect(first.text).toMatch(/^\{\n {2}"id": .*\n\}\n$/s);
	await eventually(async () => expect(await create()).toEqual({ ...first, replayed: "true" }));
});

test("an unexpected error is a 500 that reveals nothing, and is logged with the request's id", async () => {
	const error = vi.spyOn(console, "error").mockImplementation(() => {});
	const { key } = await world();
	const REQUESTS = { limit: () => Promise.reject(new Error("a cause")) };
	const response = await app.fetch(
		new Request("https://tenantry.test/api/users/@me", {
			headers: { authorization: `Bearer ${key}`, "x-request-id": "mine-7" },
		}),
		{ ...env, REQUESTS },
		createExecutionContext(),
	);
	expect(await response.json()).toEqual({
		type: "server_error",
		code: "error",
		detail: "A server error occurred.",
		attr: null,
	});
	const logged = String(error.mock.calls);
	expect(logged).toContain('"request_id":"mine-7"');
	expect(logged).toContain("a cause");
	expect(logged).not.toContain(key);
	error.mockRestore();
});
