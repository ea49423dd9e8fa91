import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test, vi } from "vitest";
import { scopes } from "../../src/access/scopes.ts";
import { organizations } from "../../src/db/schema/organizations.ts";
import { users } from "../../src/db/schema/people.ts";
import { forbidden } from "../support/errors.ts";
import { outbox } from "../support/mail.ts";
import { post } from "../support/mcp.ts";
import { exhaust, stopClock } from "../support/time.ts";
import { call, db, keyFor, person, serviceAccount, world } from "../support/world.ts";
import {
	API,
	approve,
	CALLBACK,
	codeFor,
	exchange,
	fails,
	MCP,
	newApp,
	preview,
	rejected,
	request,
	resource,
	send,
	server,
} from "./support.ts";

const READING = scopes.filter((scope) => scope.endsWith(":read"));

test("a client that knows only a resource finds how to get a token", async () => {
	const as = await server();
	for (const url of [API, MCP]) {
		const found = await resource(url);
		expect(found).toMatchObject({ resource: url, authorization_servers: [as.issuer] });
		const offered = scopes.filter((scope) => scope !== "*");
		expect(found.scopes_supported).toEqual(url === MCP ? READING : offered);
		expect(as.scopes_supported).toEqual(offered);
	}
	expect(as).toMatchObject({
		issuer: "https://app.tenantry.test",
		token_endpoint: "https://app.tenantry.test/oauth/token",
		code_challenge_methods_supported: ["S256"],
		client_id_metadata_document_supported: true,
	});
	const page = await send("GET", "/oauth/authorize?client_id=x&state=a%26b");
	expect([page.status, page.headers.get("location")]).toEqual([
		303,
		"/console/oauth?client_id=x&state=a%26b",
	]);
});

test("an app in a browser finds the service and gets tokens from any origin, without cookies", async () => {
	const origin = "https://app.example";
	for (const path of ["/.well-known/oauth-authorization-server", "/oauth/token"]) {
		const asked = await send("OPTIONS", path, undefined, {
			origin,
			"access-control-request-method": "POST",
			"access-control-request-headers": "content-type",
		});
		expect([asked.status, asked.headers.get("access-control-allow-headers")]).toEqual([
			204,
			"content-type",
		]);
		for (const method of ["GET", "POST"]) {
			const { headers } = await send(method, path, undefined, { origin });
			expect(headers.get("access-control-allow-origin")).toBe("*");
			expect(headers.has("access-control-allow-credentials")).toBe(false);
		}
	}
	const api = await send("GET", "/api/projects", undefined, { origin });
	expect(api.headers.has("access-control-allow-origin")).toBe(false);
});

test("a rejected request says where to get a token, and which scope it needs", async () => {
	const metadata = 'resource_metadata="https://tenantry.test/.well-known/oauth-protected-resource';
	const home = await world();
	const challenge = async (method: string, path: string, key?: string) =>
		(await call(method, path, { key })).headers.get("www-authenticate");
	expect(await challenge("GET", "/api/projects")).toBe(
		`Bearer ${metadata}/api", scope="project:read"`,
	);
	expect(await challenge("POST", "/api/projects", "x")).toBe(
		`Bearer error="invalid_token", ${metadata}/api", scope="project:write"`,
	);
	const mcp = await post(undefined, {});
	expect(mcp.headers.get("www-authenticate")).toBe(
		`Bearer ${metadata}/mcp", scope="${READING.join(" ")}"`,
	);
	expect(await challenge("GET", "/api/nothing")).toBe(`Bearer ${metadata}/api"`);
	const key = await keyFor(home.owner.id, { scopes: ["user:read"] });
	expect(await challenge("DELETE", `/api/projects/${home.project}`, key)).toBe(
		`Bearer error="insufficient_scope", scope="project:write", ${metadata}/api"`,
	);
});

test("the person sees the app, its host, what it asks for, and where it continues", async () => {
	const home = await world();
	const client_id = newApp();
	const { parameters } = await request(client_id, {
		scope: "project:write offline_access user:read",
		resource: MCP,
	});
	const { body } = await preview(home, parameters);
	const cancelled = new URL(body.cancel_url);
	expect(body).toMatchObject({
		client_id,
		client_name: "Notes",
		client_host: new URL(client_id).host,
		redirect_host: "notes.example",
		audience: "mcp",
		scopes: ["project:write", "user:read"],
		error: null,
	});
	expect(cancelled.href.startsWith(`${CALLBACK}?`)).toBe(true);
	expect(Object.fromEntries(cancelled.searchParams)).toEqual({
		error: "access_denied",
		state: parameters.state,
		iss: "https://app.tenantry.test",
	});
});

test.each([{}, { scope: "" }, { scope: "offline_access" }, { scope: "claudeai openid" }])(
	"an app that names no known scope asks to read: %o",
	async (fields) => {
		const { parameters } = await request(newApp(), fields);
		const { body } = await preview(await world(), parameters);
		expect(body.scopes).toEqual(READING);
	},
);

test("a request with a wrong app or redirect URI leads nowhere, whatever else is wrong", async () => {
	const home = await world();
	for (const [attr, value] of [
		["redirect_uri", `${CALLBACK}/x`],
		["redirect_uri", `${CALLBACK}?x=1`],
		["client_id", "https://notes.example"],
		["client_id", "https://notes.example/a/../b"],
		["client_id", "javascript:alert(1)"],
	] as const)
		for (const more of [{}, { response_type: "token", resource: "x" }]) {
			const { parameters } = await request(newApp(), { [attr]: value, ...more });
			expect(await preview(home, parameters)).toMatchObject(rejected(attr));
			expect((await approve(home, parameters)).status).toBe(400);
		}
});

test.each([
	["unsupported_response_type", { response_type: "token" }],
	["invalid_request", { response_type: undefined }],
	["invalid_request", { code_challenge: "x" }],
	["invalid_request", { code_challenge: undefined }],
	["invalid_request", { code_challenge_method: "plain" }],
	["invalid_request", { code_challenge_method: undefined }],
	["invalid_request", { scope: "x".repeat(2_001) }],
	["invalid_target", { resource: "https://evil.test/mcp" }],
	["invalid_target", { resource: "https://app.tenantry.test/docs" }],
])(
	"an app gets the error %s in its request, and nobody can allow it: %o",
	async (error, change) => {
		const home = await world();
		const { parameters } = await request(newApp());
		const wrong = { ...parameters, ...change };
		const { status, body } = await preview(home, wrong);
		expect([status, body.error]).toEqual([200, error]);
		const back = new URL(body.cancel_url);
		expect(back.href.startsWith(`${CALLBACK}?`)).toBe(true);
		expect(Object.fromEntries(back.searchParams)).toEqual({
			error,
			state: parameters.state,
			iss: "https://app.tenantry.test",
		});
		expect((await approve(home, wrong)).status).toBe(400);
	},
);

test.each([
	["is about another app", { client_id: "https://other.example/app" }],
	["is for an app with a secret", { token_endpoint_auth_method: "client_secret_basic" }],
	["has no redirect URI", { redirect_uris: [] }],
	["leads to a script", { redirect_uris: ["javascript:alert(1)"] }],
	[
		"leads to another host without encryption",
		{ redirect_uris: ["http://notes.example/callback"] },
	],
	["has a fragment", { redirect_uris: [`${CALLBACK}#x`] }],
	["is too large", { padding: 10_000 }],
])("a document that %s is rejected", async (_, fields) => {
	const { parameters } = await request(newApp(fields));
	expect(await preview(await world(), parameters)).toMatchObject(rejected("client_id"));
});

test.each([
	["has another redirect URI that it can't have", { redirect_uris: [CALLBACK, "data:,x", 1] }],
	["has no name", { client_name: undefined }],
	["has an empty name", { client_name: "" }],
	["has a name that isn't text", { client_name: { en: "Notes" } }],
	["has fields that are empty", { token_endpoint_auth_method: null, grant_types: null }],
	["has unknown fields", { logo_uri: 1, contacts: "x", software_id: null, response_types: [{}] }],
	["has grant types that are unknown", { grant_types: ["implicit", 1, "x".repeat(200)] }],
])("a document that %s is accepted", async (_, fields) => {
	const client_id = newApp(fields);
	const { parameters } = await request(client_id);
	const { status, body } = await preview(await world(), parameters);
	const name = "client_name" in fields ? new URL(client_id).host : "Notes";
	expect([status, body.client_name]).toEqual([200, name]);
});

test("a long name is shortened, and one that hides text shown without that", async () => {
	const client_name = `\u202e${"Notes ".repeat(20)}`;
	const { parameters } = await request(newApp({ client_name }));
	const { body } = await preview(await world(), parameters);
	expect(body.client_name).toBe(`${client_name.slice(1, 41)}…`);
});

test.each(["/redirect/302", "/status/500", "/body/200/bm90aGluZw", "/close"])(
	"an app whose document is at %s is rejected",
	async (path) => {
		const { parameters } = await request(`${env.RECEIVER_URL}${path}`);
		expect(await preview(await world(), parameters)).toMatchObject(rejected("client_id"));
	},
);

test("a document in a private network isn't fetched, nor one without encryption", async () => {
	const home = await world();
	const options = { env: { ALLOW_PRIVATE_DESTINATIONS: "false" } };
	for (const [client_id, reason] of [
		[newApp(), "must be an https URL"],
		["https://10.0.0.1/app", "10.0.0.1 is a private address"],
		["https://localhost/app", "localhost is a name of a private network"],
	] as const) {
		const { parameters } = await request(client_id);
		const response = await preview(home, parameters, options);
		expect(response).toMatchObject(rejected("client_id"));
		expect(response.body.detail).toContain(reason);
	}
});

test("only a program on the person's computer may choose its port", async () => {
	const home = await world();
	const client_id = newApp({ redirect_uris: ["http://127.0.0.1/cb", CALLBACK] });
	for (const [redirect_uri, status] of [
		["http://127.0.0.1:33418/cb", 200],
		["http://127.0.0.1:33418/other", 400],
		["https://notes.example:8443/callback", 400],
	] as const) {
		const { parameters } = await request(client_id, { redirect_uri });
		expect([redirect_uri, (await preview(home, parameters)).status]).toEqual([
			redirect_uri,
			status,
		]);
	}
});

test("a person allows at most what the app asks for, and what they have themselves", async () => {
	const [home, other] = [await world(), await world()];
	const { parameters } = await request(newApp(), { scope: "project:read" });
	const scopes = ["project:read"];
	for (const [choice, attr, code] of [
		[{ scopes: ["project:write"] }, "scopes", "invalid_input"],
		[{ scopes: [] }, "scopes", "empty"],
		[{ scoped_organizations: [other.id] }, "scoped_organizations__0", "does_not_exist"],
		[{ scoped_projects: [other.project] }, "scoped_projects__0", "does_not_exist"],
	] as const)
		expect(await approve(home, parameters, { scopes, ...choice })).toMatchObject(
			rejected(attr, code),
		);
	const few = await keyFor(home.owner.id, { scopes: ["personal_api_key:write"] });
	expect(await approve({ key: few }, parameters)).toMatchObject(
		forbidden("An API key can't give more access than it has itself."),
	);
	const ends_at = new Date(Date.now() + 86_400_000).toISOString();
	const short = { key: await keyFor(home.owner.id, { scopes: ["*"], expires_at: ends_at }) };
	expect((await approve(short, parameters)).status).toBe(403);
	expect((await approve(short, parameters, { scopes, ends_at })).status).toBe(200);
});

test("where keys must expire, an app's access must end", async () => {
	const home = await world();
	await db
		.update(organizations)
		.set({ keys_must_expire: true })
		.where(eq(organizations.uuid, home.id));
	const { parameters } = await request(newApp());
	expect(await approve(home, parameters)).toMatchObject(rejected("ends_at", "expiry_required"));
	const ends_at = "2999-01-01";
	expect((await approve(home, parameters, { scopes: ["project:read"], ends_at })).status).toBe(200);
});

test("the access of an app can't begin after its end", async () => {
	stopClock();
	const home = await world();
	const asked = await request(newApp());
	const until = (ms: number) => ({
		scopes: ["project:read"],
		ends_at: new Date(Date.now() + ms).toISOString(),
	});
	expect(await approve(home, asked.parameters, until(0))).toMatchObject(rejected("ends_at"));
	const code = await codeFor(home, asked, until(1000));
	vi.setSystemTime(Date.now() + 1001);
	await expect(exchange(code, asked)).rejects.toMatchObject(fails("invalid_grant"));
});

test("a service account can't allow an app", async () => {
	const home = await world();
	const key = await keyFor((await serviceAccount(home)).user_id);
	const { parameters } = await request(newApp());
	expect(await approve({ key }, parameters)).toMatchObject(
		forbidden("Only people can allow apps."),
	);
});

test("the endpoints for apps have errors of the protocol", async () => {
	for (const [path, form, error] of [
		["token", "", "invalid_request"],
		["token", "grant_type=password", "unsupported_grant_type"],
		["token", "grant_type=refresh_token&grant_type=refresh_token", "invalid_request"],
		["token", "grant_type=authorization_code&code=x", "invalid_grant"],
		["token", "grant_type=refresh_token&refresh_token=x", "invalid_request"],
		["revoke", "", "invalid_request"],
		["introspect", "token=x", "invalid_request"],
	] as const) {
		const response = await send("POST", `/oauth/${path}`, new URLSearchParams(form));
		const { error: given } = await response.json<{ error: string }>();
		const caching = response.headers.get("cache-control");
		expect([form, response.status, given, caching]).toEqual([form, 400, error, "no-store"]);
	}
	const json = await send("POST", "/oauth/token", JSON.stringify({ grant_type: "password" }));
	expect([json.status, await json.json()]).toMatchObject([400, { error: "invalid_request" }]);
	expect((await send("GET", "/oauth/token")).status).toBe(405);
	expect((await send("POST", "/oauth/nothing")).status).toBe(404);
});

test("an app that repeats a parameter learns which one", async () => {
	const form = new URLSearchParams("grant_type=refresh_token&grant_type=refresh_token");
	const response = await send("POST", "/oauth/token", form);
	expect(await response.json()).toEqual({
		error: "invalid_request",
		error_description: "The parameter grant_type is repeated.",
	});
});

test("too many requests of a network are rejected", async () => {
	const address = v7();
	await exhaust(env.REQUESTS, `apps from ${address}`);
	for (const path of ["token", "revoke", "introspect", "register"]) {
		const headers = { "cf-connecting-ip": address };
		const response = await send("POST", `/oauth/${path}`, new URLSearchParams("token=x"), headers);
		expect([response.status, response.headers.get("retry-after")]).toEqual([429, "60"]);
	}
});

test("the person gets a mail about an app that can change something", async () => {
	const home = await person();
	await db.update(users).set({ is_email_verified: true }).where(eq(users.id, home.id));
	const mails = outbox();
	const { parameters } = await request(newApp(), { scope: "project:write project:read" });
	for (const scope of ["project:read", "project:write"])
		await call("POST", "/api/app_requests", {
			key: home.key,
			body: { ...parameters, scopes: [scope] },
			env: mails.env,
		});
	const sent = mails.take();
	expect(sent).toHaveLength(1);
	expect(sent[0]?.text).toContain('The app "Notes" of');
	expect(sent[0]?.text).toContain("/console/account");
});
