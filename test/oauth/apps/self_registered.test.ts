import { env } from "cloudflare:workers";
import * as oauth from "oauth4webapi";
import { v7 } from "uuid";
import { expect, test, vi } from "vitest";
import { seal } from "../../../src/keys/secrets.ts";
import { world } from "../../support/world.ts";
import {
	codeFor,
	exchange,
	options,
	preview,
	rejected,
	request,
	secretsIn,
	send,
	server,
	statusWith,
} from "../support.ts";

const DAY_MS = 86_400_000;
const CALLBACK = "https://notes.example/callback";

/** Registers an app with a client library. */
async function register(metadata: Partial<oauth.Client> = {}) {
	const asked = { client_name: "Notes", redirect_uris: [CALLBACK], ...metadata };
	const response = await oauth.dynamicClientRegistrationRequest(await server(), asked, options);
	return oauth.processDynamicClientRegistrationResponse(response);
}

const post = (body: BodyInit, headers: HeadersInit = {}) =>
	send("POST", "/oauth/register", body, headers);

const errorOf = async (body: unknown) => {
	const response = await post(JSON.stringify(body));
	const { error } = await response.json<{ error: string }>();
	return [response.status, error, response.headers.get("cache-control")];
};

test("an app that registers itself can ask for access for 90 days", async () => {
	const { key } = await world();
	const { client_id, ...registered } = await register({ token_endpoint_auth_method: "none" });
	expect(registered).toMatchObject({
		client_name: "Notes",
		redirect_uris: [CALLBACK],
		token_endpoint_auth_method: "none",
		client_id_issued_at: expect.any(Number),
	});
	const asked = await request(client_id, { redirect_uri: CALLBACK });
	expect((await preview({ key }, asked.parameters)).body).toMatchObject({
		client_id,
		client_name: "Notes",
		client_host: null,
		client_organization: null,
		redirect_host: "notes.example",
	});
	const { access } = secretsIn(await exchange(await codeFor({ key }, asked), asked));
	expect(await statusWith(access)).toBe(200);
	vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 91 * DAY_MS });
	expect(await preview({ key }, asked.parameters)).toMatchObject(rejected("client_id"));
	vi.useRealTimers();
});

test("an id that the service didn't give, or gave for something else, is no app", async () => {
	const { key } = await world();
	const { client_id } = await register();
	const other = await seal(env, JSON.stringify({ redirect_uris: [CALLBACK] }), {
		table: "webhooks",
		row: v7(),
		field: "secret",
	});
	const changed = client_id.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
	for (const id of [other, changed.replace(/:(.)/, ":x"), `${client_id}A`]) {
		const asked = await request(id, { redirect_uri: CALLBACK });
		expect(await preview({ key }, asked.parameters)).toMatchObject(rejected("client_id"));
	}
	const asked = await request(client_id, { redirect_uri: "https://evil.example/callback" });
	expect(await preview({ key }, asked.parameters)).toMatchObject(rejected("redirect_uri"));
});

test("an id whose redirect URIs can no longer be used is no app", async () => {
	const redirect_uri = "x-notes.example:/callback";
	const registration = { client_name: "Notes", redirect_uris: [redirect_uri] };
	const sealed = JSON.stringify({ ...registration, expires_at: Date.now() + DAY_MS });
	const place = { table: "oauth_clients", row: "self-registered", field: "client_id" };
	const asked = await request(await seal(env, sealed, place), { redirect_uri });
	expect(await preview(await world(), asked.parameters)).toMatchObject(rejected("client_id"));
});

test("wrong metadata has the errors of the protocol, and other metadata is ignored", async () => {
	for (const redirect_uris of [
		undefined,
		[],
		"https://notes.example/callback",
		["javascript:alert(1)"],
		["http://notes.example/callback"],
		["https://a:b@notes.example/"],
		["https://notes.example/#x"],
		[`https://notes.example/${"x".repeat(600)}`],
		Array.from({ length: 30 }, (_, i) => `https://notes.example/callback/${i}`),
	])
		expect(await errorOf({ client_name: "Notes", redirect_uris })).toEqual([
			400,
			"invalid_redirect_uri",
			"no-store",
		]);
	for (const body of [null, [], "Notes", 1])
		expect(await errorOf(body)).toEqual([400, "invalid_client_metadata", "no-store"]);
	expect((await post("{")).status).toBe(400);
	expect((await post(`"${"x".repeat(2 ** 20)}"`)).status).toBe(413);
	const named = await post(JSON.stringify({ redirect_uris: ["javascript:alert(“1”)"] }));
	const { error_description } = await named.json<{ error_description: string }>();
	expect(error_description).toContain("This one can't be used: javascript:alert(?1?)");
});

const LOOPBACK = "http://localhost:33418/callback";

/** What clients send word for word, and the redirect URIs that they need. */
const CLIENTS: [client: string, body: { redirect_uris: unknown[] } & Record<string, unknown>][] = [
	[
		"Claude Code",
		{
			client_name: "Claude Code (plugin:engineering-tools:tenantry)",
			redirect_uris: [LOOPBACK],
			grant_types: ["authorization_code", "refresh_token"],
			response_types: ["code"],
			token_endpoint_auth_method: "none",
			scope: "claudeai",
		},
	],
	[
		"Cursor",
		{
			client_name: "Cursor",
			redirect_uris: ["cursor://anysphere.cursor-retrieval/oauth/user-tenantry/callback"],
			grant_types: ["authorization_code", "refresh_token"],
			response_types: ["code"],
			token_endpoint_auth_method: "none",
		},
	],
	[
		"Windsurf",
		{
			client_name: "Windsurf",
			client_uri: "https://windsurf.com",
			redirect_uris: ["windsurf://codeium.windsurf/oauth-callback", LOOPBACK],
			token_endpoint_auth_method: "client_secret_post",
		},
	],
	["Zed", { client_name: "Zed", redirect_uris: ["zed://mcp/oauth/callback", LOOPBACK] }],
	[
		"Raycast",
		{
			client_name: "Raycast",
			redirect_uris: ["raycast://oauth?package_name=Extension", "com.raycast:/oauth"],
			logo_uri: "https://www.raycast.com/logo.png",
		},
	],
	[
		"VS Code",
		{
			client_name: "Visual Studio Code",
			client_uri: "https://code.visualstudio.com",
			grant_types: [
				"authorization_code",
				"refresh_token",
				"urn:ietf:params:oauth:grant-type:device_code",
			],
			response_types: ["code"],
			redirect_uris: [
				"https://insiders.vscode.dev/redirect",
				"https://vscode.dev/redirect",
				"http://127.0.0.1/",
				"http://127.0.0.1:33418/",
				"vscode://vscode.github-authentication/did-authenticate",
			],
			token_endpoint_auth_method: "none",
			application_type: "native",
		},
	],
];

test.each(CLIENTS)("%s can register with what it sends, and continue", async (_, body) => {
	const { key } = await world();
	const response = await post(JSON.stringify(body));
	expect(response.status).toBe(201);
	const { client_id, ...registered } = await response.json<{ client_id: string }>();
	expect(registered).toMatchObject({
		redirect_uris: body.redirect_uris,
		token_endpoint_auth_method: "none",
		grant_types: ["authorization_code", "refresh_token"],
	});
	for (const redirect_uri of body.redirect_uris.map(String)) {
		const asked = await request(client_id, { redirect_uri });
		const { access } = secretsIn(await exchange(await codeFor({ key }, asked), asked));
		expect(await statusWith(access)).toBe(200);
		const longer = await request(client_id, { redirect_uri: `${redirect_uri}x` });
		expect(await preview({ key }, longer.parameters)).toMatchObject(rejected("redirect_uri"));
	}
});

test("redirect URIs that an app can't have are left out of its registration", async () => {
	const { redirect_uris } = await register({
		redirect_uris: ["javascript:alert(1)", 1, CALLBACK, null, "http://notes.example/", LOOPBACK],
	});
	expect(redirect_uris).toEqual([CALLBACK, LOOPBACK]);
});

test.each([
	[" Notes\u202e\n", "Notes"],
	[undefined, "Unnamed app"],
])("an app that calls itself %j is registered as %s", async (client_name, shown) => {
	const body = { redirect_uris: [CALLBACK], client_name, logo_uri: 1, contacts: {}, tos_uri: "x" };
	const response = await post(JSON.stringify(body));
	const registered = await response.json<{ client_id: string; client_name: string }>();
	expect([response.status, registered.client_name]).toEqual([201, shown]);
	const asked = await request(registered.client_id, { redirect_uri: CALLBACK });
	expect((await preview(await world(), asked.parameters)).body.client_name).toBe(shown);
});

test("a network registers ten apps a minute", async () => {
	const headers = { "cf-connecting-ip": "2001:db8::1" };
	const body = JSON.stringify({ redirect_uris: [CALLBACK] });
	const statuses: number[] = [];
	while (!statuses.includes(429) && statuses.length < 30)
		statuses.push((await post(body, headers)).status);
	expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(10);
	expect(statuses.at(-1)).toBe(429);
	const neighbour = { "cf-connecting-ip": "2001:db8::2" };
	expect((await post(body, neighbour)).status).toBe(429);
});
