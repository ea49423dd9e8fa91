import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { AUDITOR } from "../../src/db/schema/access.ts";
import { RESOURCES } from "../../src/db/schema/levels.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { call, cost, db, furnished, join, keyFor, world } from "../support/world.ts";

type Counts = Record<string, number | string>;

async function counts(path: string, key: string): Promise<Counts> {
	const response = await call("GET", path, { key });
	expect(response.status).toBe(200);
	expect(cost(response)).toMatchObject({ trips: 1, written: 0 });
	const { items } = response.body;
	return Object.fromEntries(
		items.map(({ kind, count, is_more }: { kind: string; count: number; is_more: boolean }) => [
			kind,
			is_more ? `${count}+` : count,
		]),
	);
}

const addEvents = (project: number, n: number) =>
	env.DB.prepare(
		`with recursive i (i) as (select 1 union all select i + 1 from i where i < ${n})
		insert into events (id, team_id, uuid, event, distinct_id, properties, timestamp, _inserted_at)
		select ${project} * 1000000 + i, ${project}, randomblob(16), 'x', 'y', '{}', 0, 0 from i`,
	).run();

test("what belongs to an organization or project is counted up to 1,000, in one round trip", async () => {
	const [home, other] = [await furnished(), await furnished()];
	await addEvents(home.project, 1001);
	await addEvents(other.project, 3);
	const { batch_export, plugin_config } = await counts(
		`/api/organizations/${home.id}/projects/${home.project}/contents`,
		home.key,
	);
	expect([batch_export, plugin_config]).toEqual([1, 1]);
	const here = await counts(`/api/projects/${home.project}/contents`, home.key);
	expect(here).toMatchObject({ batch_export: 1, plugin_config: 1, event: "1000+" });
	const all = await counts(`/api/organizations/${home.id}/contents`, home.key);
	expect(all).toMatchObject({
		...{ project: 1, member: 2, service_account: 1, domain: 1, batch_export: 1, plugin_config: 1 },
		...{ webhook: 1, audit_stream: 1, event: "1000+" },
	});
	expect(await counts(`/api/organizations/${other.id}/contents`, other.key)).toMatchObject({
		event: 3,
	});
	const empty = await world();
	expect(await counts(`/api/projects/${empty.project}/contents`, empty.key)).toEqual({});
	const member = await join(home.id, 1);
	const narrow = await keyFor(home.owner.id, { scopes: ["user:read"] });
	for (const key of [member.key, other.key, narrow])
		for (const path of [
			`organizations/${home.id}`,
			`organizations/${home.id}/projects/${home.project}`,
			`projects/${home.project}`,
		])
			expect([403, 404]).toContain((await call("GET", `/api/${path}/contents`, { key })).status);
});

test("auditors read what belongs to the organization and its projects; whoever may view some resources doesn't", async () => {
	const home = await furnished();
	const [auditor, viewer] = [await join(home.id, 1), await join(home.id, 1)];
	await home.here("POST", `/roles/${AUDITOR}/members`, { body: { member: auditor.uuid } });
	for (const resource of RESOURCES)
		await home.here("POST", "/access_controls", {
			body: { resource, member: viewer.uuid, access_level: "viewer" },
		});
	const path = `/api/organizations/${home.id}`;
	for (const of of [path, `/api/projects/${home.project}`])
		expect(await counts(`${of}/contents`, auditor.key)).toEqual(
			await counts(`${of}/contents`, home.key),
		);
	expect((await call("GET", `${path}/contents`, { key: viewer.key })).status).toBe(403);
	const body = { name: "Mine" };
	expect((await call("PATCH", path, { key: auditor.key, body })).status).toBe(403);
	expect((await call("DELETE", path, { key: auditor.key })).status).toBe(403);
});

test("where a plugin is used is counted, and listed; elsewhere only for its own organization", async () => {
	const [home, other] = [await furnished(), await furnished()];
	const { body: own } = await home.ask("GET", `/api/organizations/${home.id}/plugin_configs`);
	const plugin = own.results[0].plugin;
	await db.update(plugins).set({ is_global: true }).where(eq(plugins.id, plugin));
	const body = { plugin, enabled: false, order: 1, config: "{}" };
	const made = await other.ask("POST", `/api/projects/${other.project}/plugin_configs`, { body });
	expect(made.status).toBe(201);
	const at = (id: string) => `/api/organizations/${id}/plugins/${plugin}/contents`;
	expect(await counts(at(home.id), home.key)).toEqual({
		plugin_config: 1,
		plugin_config_elsewhere: 1,
	});
	expect(await counts(at(other.id), other.key)).toEqual({ plugin_config: 1 });
	await db.update(plugins).set({ is_global: false }).where(eq(plugins.id, plugin));
	const empty = await world();
	expect((await call("GET", at(empty.id), { key: empty.key })).status).toBe(404);
	expect((await call("GET", at(home.id), { key: empty.key })).status).toBe(403);
	const where = async (id: number | string) => {
		const path = `/api/organizations/${other.id}/plugin_configs?plugin=${id}`;
		const { status, body } = await other.ask("GET", path);
		return status === 200 ? [body.count, body.results.length] : status;
	};
	expect(await where(plugin)).toEqual([1, 1]);
	expect(await where(2 ** 31 - 1)).toEqual([0, 0]);
	expect(await where("many")).toBe(400);
});
