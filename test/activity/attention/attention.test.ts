import { eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { pluginConfigs } from "../../../src/db/schema/plugins.ts";
import { addRuns, cost, db, join, LEASED, world } from "../../support/world.ts";

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

async function failing() {
	const home = await world();
	const { here, ask, project, owner } = home;
	const make = async (name: string, more: object = {}) =>
		(
			await here("POST", "/batch_exports", {
				body: { name, interval: "hour", destination: { type: "NoOp", config: {} }, ...more },
			})
		).body;
	await make("Healthy");
	await make("Resting", { paused: true });
	const broken = await make("Broken");
	await addRuns(broken.id, {
		id: v7(),
		status: "FailedRetryable",
		latest_error: "No route.",
		data_interval_start: "2026-01-01T00:00:00.000Z",
		data_interval_end: "2026-01-01T01:00:00.000Z",
		finished_at: "2026-01-01T02:00:00.000Z",
		...LEASED,
	});
	await here("POST", "/domains", { body: { domain: `${v7()}.example.com` } });
	const key = { label: "Deployment", scopes: ["project:read"], expires_at: inDays(3) };
	await ask("POST", "/api/personal_api_keys", { key: owner.key, body: key });
	const { body: account } = await here("POST", "/service_accounts", {
		body: { name: "CI", level: 1 },
	});
	await here("POST", `/service_accounts/${account.id}/keys`, {
		body: { ...key, expires_at: inDays(2) },
	});
	const { body: plugin } = await here("POST", "/pipeline_destinations", {
		body: { name: "Copies" },
	});
	const { body: config } = await ask("POST", `/api/projects/${project}/plugin_configs`, {
		key: owner.key,
		body: { plugin: plugin.id, order: 1, enabled: true, name: "Copy" },
	});
	expect(config).toMatchObject({ name: "Copy" });
	await db
		.update(pluginConfigs)
		.set({ error: "The disk is full." })
		.where(eq(pluginConfigs.id, config.id));
	return { ...home, broken, config };
}

const said = (items: { state: string; kind: string; name: string }[]) =>
	items.map(({ state, kind, name }) => `${state} ${kind} ${name}`);

test("what needs attention is listed in one round trip, the most urgent first", async () => {
	const { here, id, broken } = await failing();
	const response = await here("GET", "/attention");
	const { items } = response.body;
	expect(said(items).filter((text) => !text.startsWith("not_verified"))).toEqual([
		"failing batch_export Broken",
		"failing plugin_config Copy",
		"expires service_account_key Deployment of CI",
		"expires personal_api_key Deployment",
		"paused batch_export Resting",
	]);
	expect(items[0]).toMatchObject({ id: broken.id, undelivered_windows: 1, detail: "No route." });
	expect(cost(response)).toMatchObject({ trips: 1, written: 0 });
	const member = await join(id, 1);
	const { body } = await here("GET", "/attention", { key: member.key });
	expect(said(body.items)).toEqual([
		"failing batch_export Broken",
		"failing plugin_config Copy",
		"paused batch_export Resting",
	]);
});

test("an admin is told what the organization lacks at first", async () => {
	const { here, id } = await world();
	const setup = async (key?: string) =>
		(await here("GET", "/attention", key === undefined ? {} : { key })).body.setup;
	expect(await setup()).toEqual({
		has_verified_domain: false,
		has_webhook: false,
		has_export_access: false,
	});
	await here("POST", "/webhooks", { body: { url: "https://192.0.2.1/", enabled: false } });
	await db.insert(domains).values({
		...{ id: v7(), domain: `${v7()}.example.com`, verification_challenge: "a" },
		organization_id: sql`(select id from organizations where uuid = ${id})`,
		verified_at: new Date().toISOString(),
	});
	expect(await setup()).toEqual({
		has_verified_domain: true,
		has_webhook: true,
		has_export_access: false,
	});
	expect(await setup((await join(id, 1)).key)).toBeNull();
});

test("a key sees only what it has scopes for, and nobody what belongs to others", async () => {
	const { here, ask, owner } = await failing();
	const body = { label: "Reads", scopes: ["organization:read", "plugin:read"] };
	const { value } = (await ask("POST", "/api/personal_api_keys", { key: owner.key, body })).body;
	const { items } = (await here("GET", "/attention", { key: value })).body;
	expect(new Set(items.map(({ kind }: { kind: string }) => kind))).toEqual(
		new Set(["plugin_config", "domain"]),
	);
	const { here: elsewhere } = await world();
	expect((await elsewhere("GET", "/attention")).body.items).toEqual([]);
});

test("the configs of all projects are one list", async () => {
	const { here, ask, owner, config } = await failing();
	const { body: second } = await here("POST", "/projects", { body: { name: "Second" } });
	const { body: other } = await ask("POST", `/api/projects/${second.id}/plugin_configs`, {
		key: owner.key,
		body: { plugin: config.plugin, order: 0 },
	});
	const { body, ...response } = await here("GET", "/plugin_configs");
	expect(body.results.map(({ id }: { id: number }) => id)).toEqual([config.id, other.id]);
	expect(body).toMatchObject({ count: 2, next: null });
	const { here: elsewhere } = await world();
	expect((await elsewhere("GET", "/plugin_configs")).body.count).toBe(0);
	expect(response.status).toBe(200);
});
