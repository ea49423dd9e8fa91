import {
	Client,
	type OAuthClientProvider,
	type OAuthDiscoveryState,
	type StoredOAuthClientInformation,
	type StoredOAuthTokens,
	StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { expect, test, vi } from "vitest";
import { scopes } from "../../src/access/scopes.ts";
import { approve, granted, MCP, send } from "../oauth/support.ts";
import { post } from "../support/mcp.ts";
import { stopClock } from "../support/time.ts";
import { keyFor, world } from "../support/world.ts";

/* The official client gets and keeps its access by itself, from the URL alone. */

const HOUR = 3_600_000;
const CALLBACK = "http://127.0.0.1:33418/callback";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const fetchDirectly: Fetch = (url, { method = "GET", body, headers } = {}) =>
	send(method, String(url), body ?? undefined, headers);

/** What an app keeps: its registration, its tokens, and what belongs to its last request. */
type Storage = {
	client?: StoredOAuthClientInformation;
	tokens?: StoredOAuthTokens;
	verifier?: string;
	discovery?: OAuthDiscoveryState;
};

/** A process of an app. `asked` has the requests for which it would open a browser. */
function start(storage: Storage, fetch = fetchDirectly) {
	const asked: Record<string, string>[] = [];
	const authProvider: OAuthClientProvider = {
		redirectUrl: CALLBACK,
		clientMetadata: { client_name: "Notes", redirect_uris: [CALLBACK] },
		clientInformation: () => storage.client,
		saveClientInformation: (client) => void Object.assign(storage, { client }),
		tokens: () => storage.tokens,
		saveTokens: (tokens) => void Object.assign(storage, { tokens }),
		redirectToAuthorization: ({ searchParams }) =>
			void asked.push(Object.fromEntries(searchParams)),
		saveCodeVerifier: (verifier) => void Object.assign(storage, { verifier }),
		codeVerifier: () => storage.verifier ?? "",
		saveDiscoveryState: (discovery) => void Object.assign(storage, { discovery }),
		discoveryState: () => storage.discovery,
	};
	const transport = () => new StreamableHTTPClientTransport(new URL(MCP), { authProvider, fetch });
	return { asked, transport };
}

type App = ReturnType<typeof start>;

/** Connects a process. Returns how it calls tools. */
async function connect({ transport }: App) {
	const client = new Client({ name: "test", version: "1" });
	await client.connect(transport());
	return (name: string, given: Record<string, unknown> = {}) =>
		client.callTool({ name, arguments: given });
}

type Home = Awaited<ReturnType<typeof world>>;

/** Allows the last request of an app, and gives it the code. */
async function allow(home: Home, { asked, transport }: App, scopes: string[]) {
	const { body } = await approve(home, asked.at(-1) ?? {}, { scopes });
	await transport().finishAuth(new URL(body.redirect_url).searchParams);
}

/** The storage of an app that a person has allowed to read. */
async function signedIn(home: Home) {
	const storage: Storage = {};
	const app = start(storage);
	await expect(connect(app)).rejects.toThrow();
	await allow(home, app, ["project:read", "user:read"]);
	return storage;
}

const READING = scopes.filter((scope) => scope.endsWith(":read"));
const LIST_DOMAINS = { operationId: "listDomains", parameters: { organization_id: "@current" } };
const READ = { operationId: "listProjects" };

test("an app asks to read, and for more when a call needs it, without losing what it has", async () => {
	const home = await world();
	const storage: Storage = {};
	const app = start(storage);
	await expect(connect(app)).rejects.toThrow();
	expect(app.asked.map(({ scope }) => scope)).toEqual([READING.join(" ")]);
	await allow(home, app, ["project:read", "user:read"]);
	const call = await connect(app);
	expect((await call("whoami")).structuredContent).toMatchObject({
		key: { scopes: ["project:read", "user:read"] },
	});
	const change = {
		operationId: "updateProject",
		parameters: { id: "@current" },
		body: { name: "New" },
		confirm: true,
	};
	await expect(call("change", change)).rejects.toThrow();
	const [, asked] = app.asked;
	expect(asked?.scope).toBe("project:read user:read project:write");
	await allow(home, app, ["project:write", "user:read"]);
	expect((await call("change", change)).structuredContent).toMatchObject({ status: 200 });
	expect((await call("read", READ)).isError).toBeUndefined();
	expect(app.asked).toHaveLength(2);
});

test("a call for which an app lacks a scope is a 403 that names what it has and needs, and an error of the tool for keys", async () => {
	const home = await world();
	const choice = { scopes: ["project:read", "user:read"] };
	const { access } = await granted(home, { fields: { resource: MCP }, choice });
	const key = await keyFor(home.owner.id, choice);
	const params = { name: "read", arguments: LIST_DOMAINS };
	const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
	const { status, headers, body } = await post(access, message);
	const detail = "API key missing required scope 'organization:read'";
	expect([status, body.error.message]).toEqual([403, detail]);
	expect(headers.get("www-authenticate")).toMatch(
		/^Bearer error="insufficient_scope", scope="project:read user:read organization:read", resource_metadata="[^"]+\/mcp"$/,
	);
	const ofKey = await post(key, message);
	expect([ofKey.status, ofKey.body.result.structuredContent.error.detail]).toEqual([200, detail]);
});

test.each([
	["one process", (storage: Storage) => [storage]],
	["two processes", (storage: Storage) => [storage, storage]],
	["two processes that store their tokens apart", (storage: Storage) => [storage, { ...storage }]],
])("calls at once with an expired token succeed in %s, each hour", async (_, storesOf) => {
	stopClock();
	const apps = storesOf(await signedIn(await world())).map((storage) => start(storage));
	const clients = await Promise.all(apps.map(connect));
	for (let hour = 0; hour < 2; hour += 1) {
		vi.setSystemTime(Date.now() + HOUR);
		const calls = Array.from({ length: 6 }, (_, i) => clients[i % clients.length]?.("read", READ));
		for (const result of await Promise.all(calls)) expect(result?.isError).toBeUndefined();
	}
	expect(apps.flatMap(({ asked }) => asked)).toEqual([]);
});

test("a call whose refresh gets no response succeeds when it is repeated", async () => {
	stopClock();
	const storage = await signedIn(await world());
	const lost: number[] = [];
	let isLosing = true;
	const losing: Fetch = async (url, init) => {
		const response = await fetchDirectly(url, init);
		if (!isLosing || !String(url).endsWith("/oauth/token")) return response;
		lost.push(response.status);
		throw new TypeError("The connection was lost.");
	};
	const call = await connect(start(storage, losing));
	vi.setSystemTime(Date.now() + HOUR);
	const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
	await expect(call("read", READ)).rejects.toThrow();
	warn.mockRestore();
	isLosing = false;
	expect((await call("read", READ)).isError).toBeUndefined();
	expect(new Set(lost)).toEqual(new Set([200]));
});
