import { env } from "cloudflare:workers";
import * as oauth from "oauth4webapi";
import { expect, test } from "vitest";
import about from "../../package.json" with { type: "json" };
import { sourceOf } from "../../src/exports/engine/sources/index.ts";
import { fieldsOf } from "../../src/exports/query/rows.ts";
import { findClient } from "../../src/oauth/apps/clients.ts";
import { userAgent } from "../../src/outbound/fetch.ts";
import { checkedRequests } from "../../src/outbound/oauth.ts";
import { resolve } from "../../src/outbound/resolve.ts";
import { run as runPlugin } from "../../src/plugins/jobs/sandbox.ts";
import { latest } from "../../src/plugins/plugins/registries.ts";
import { repository } from "../../src/plugins/plugins/repository.ts";
import { KEYS } from "../support/bucket.ts";
import { toScript } from "../support/compiler.ts";
import { destinationOf, received } from "../support/exporting.ts";

const OWN = `Tenantry/${about.version} (+https://app.tenantry.test)`;

const export_ = (type: string, config: object) => destinationOf(env, type, config).test();

/** Runs a plugin that sends a request. */
const plugin = async (url: string, headers: object) =>
	runPlugin(env.LOADER, {
		isolate: null,
		script: await toScript(
			`export const jobs = { go: () => fetch("${url}", ${JSON.stringify({ headers })}) };`,
		),
		call: { kind: "job", type: "go", payload: {} },
		config: {},
		secrets: [],
		storage: { get: async () => null, set: async () => true, del: async () => {} },
		hosts: [new URL(env.RECEIVER_URL).host],
	});

const selection = {
	team_id: 0,
	model: "events" as const,
	fields: fieldsOf("events", null, false),
	by: "arrival" as const,
	start: "2026-01-02T00:00:00Z",
	end: "2026-01-03T00:00:00Z",
	include_events: [],
	exclude_events: [],
	where: null,
};

const bucket = { bucket_name: "b", prefix: "x", region: "auto", ...KEYS };
const google = { bucket_name: "b", prefix: "x", hmac_access_id: "a", hmac_secret: "s" };
const blobs = { container_name: "box", prefix: "x", account_name: "account", sas_token: "sig=1" };
const bigQuery = {
	project_id: "p",
	dataset_id: "d",
	client_email: "c@example.com",
	private_key: env.BIGQUERY_PRIVATE_KEY,
};

/** What the service asks the receiver for at a URL, and the path of a request below it. */
const KINDS: [string, string, (url: string) => Promise<unknown>][] = [
	["an HTTP receiver", "", (url) => export_("HTTP", { url })],
	["S3", "/b", (endpoint_url) => export_("S3", { ...bucket, endpoint_url })],
	["Google Cloud Storage", "/b", (endpoint_url) => export_("GCS", { ...google, endpoint_url })],
	["Azure", "/box", (endpoint_url) => export_("AzureBlob", { ...blobs, endpoint_url })],
	["ClickHouse", "", (url) => export_("ClickHouse", { url, database: "d" })],
	[
		"Google's token server",
		"/token",
		(url) => export_("BigQuery", { ...bigQuery, endpoint_url: url, token_uri: `${url}/token` }),
	],
	[
		"BigQuery",
		"",
		(url) => export_("BigQuery", { ...bigQuery, endpoint_url: url, token_uri: `${url}/token` }),
	],
	[
		"an Iceberg catalog",
		"/v1/config",
		(catalog_uri) => export_("Iceberg", { catalog_uri, namespace: "n", token: "t" }),
	],
	["a resolver", "", (DOH_URL) => resolve({ ...env, DOH_URL }, "example.test", "A")],
	[
		"npm",
		"/x",
		(NPM_REGISTRY_URL) => latest({ ...env, NPM_REGISTRY_URL }, "https://www.npmjs.com/package/x"),
	],
	[
		"GitHub",
		"/repos/u/x/commits/HEAD",
		(GITHUB_API_URL) => latest({ ...env, GITHUB_API_URL }, "https://github.com/u/x"),
	],
	[
		"GitLab",
		"/projects/u%2Fx/repository/commits/HEAD",
		(GITLAB_API_URL) => latest({ ...env, GITLAB_API_URL }, "https://gitlab.com/u/x"),
	],
	["a list of plugins", "", (url) => repository({ ...env, PLUGIN_REPOSITORY_URL: url })],
	[
		"an OpenID provider",
		"/.well-known/openid-configuration",
		(url) =>
			oauth.discoveryRequest(
				new URL(url),
				checkedRequests(env, url, [], () => new Error()),
			),
	],
	["the document of an app", "", (url) => findClient({ env, url }, url)],
	["a host of a plugin", "", (url) => plugin(url, {})],
];

test.each(KINDS)("a request to %s has the service's User-Agent", async (_, path, ask) => {
	const place = `/status/404/${crypto.randomUUID()}`;
	await ask(env.RECEIVER_URL + place).catch(() => {});
	const [request] = await received(place + path);
	expect(request?.headers["user-agent"]).toBe(OWN);
});

test("a query of the source of events has the service's User-Agent", async () => {
	const source = sourceOf({ ...env, EVENT_SOURCE: "clickhouse", CLICKHOUSE_URL: env.RECEIVER_URL });
	await source.count(selection).catch(() => {});
	expect((await received("/")).at(-1)?.headers["user-agent"]).toBe(OWN);
});

test("a plugin's User-Agent is followed by the service's", async () => {
	const place = `/status/404/${crypto.randomUUID()}`;
	await plugin(env.RECEIVER_URL + place, { "User-Agent": "Greeter/2 (+https://acme.test)" });
	const [request] = await received(place);
	expect(request?.headers["user-agent"]).toBe(`Greeter/2 (+https://acme.test) ${OWN}`);
});

test.each([
	["", `Tenantry/${about.version}`],
	["https://größe.example/", `Tenantry/${about.version} (+https://xn--gre-6ka8i.example)`],
])("with APP_URL %j, the User-Agent is %s", (APP_URL, name) => {
	expect(userAgent({ APP_URL })).toBe(name);
});
