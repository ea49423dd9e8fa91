import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizationId, organizations, projects } from "../../../src/db/schema/organizations.ts";
import { pluginConfigs, pluginLogs } from "../../../src/db/schema/plugins.ts";
import { MASK } from "../../../src/keys/secrets.ts";
import { configCipher } from "../../../src/plugins/plugins/config.ts";
import { wrong } from "../../support/errors.ts";
import { eventually } from "../../support/time.ts";
import { cost, db, racing, world } from "../../support/world.ts";

const ROUNDED =
	"Ensure this number is one that a double can hold without rounding, of at most 400 characters. Send others as strings.";

const SCHEMA = [
	{ key: "url", type: "string", required: true },
	{ key: "token", type: "string", secret: true },
	{ key: "mode", type: "choice", choices: ["fast", "safe"] },
	{ markdown: "Just text." },
];

/** A project with a plugin, and functions that request and create its configs. */
async function home(schema: unknown = SCHEMA) {
	const tenant = await world();
	const { body: plugin } = await tenant.here("POST", "/pipeline_destinations", {
		body: { name: "Plugin", description: "About it.", config_schema: schema },
	});
	const path = `/api/projects/${tenant.project}/plugin_configs`;
	const at = (method: string, below = "", body?: unknown, env: Partial<Env> = {}) =>
		tenant.ask(method, `${path}${below}`, { body, env });
	const post = (body: object = {}, env: Partial<Env> = {}) =>
		at("POST", "/", { plugin: plugin.id, order: 1, ...body }, env);
	const make = async (body: object = {}) => {
		const created = await post(body);
		expect(created.status).toBe(201);
		return created.body;
	};
	return { ...tenant, plugin, path, at, post, make };
}

const rowOf = async (id: number) =>
	(await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id)))[0];

/** The decrypted value of the secret field in a stored config. */
const unsealed = async (id: number) => {
	const row = await rowOf(id);
	return row && configCipher(env, row).unseal("config.token", String(row.config.token));
};

const configOf = (body: { config: string }) => JSON.parse(body.config);

test("a config is created with all fields and can be retrieved", async () => {
	const { at, make, plugin, project } = await home();
	const created = await make();
	expect(created).toEqual({
		id: expect.any(Number),
		plugin: plugin.id,
		enabled: false,
		order: 1,
		config: "{}",
		error: null,
		team_id: project,
		plugin_info: JSON.stringify(plugin),
		delivery_rate_24h: null,
		created_at: expect.any(String),
		updated_at: expect.any(String),
		name: "Plugin",
		description: "About it.",
		deleted: false,
	});
	expect((await at("GET", `/${created.id}/`)).body).toEqual(created);
	const { body } = await at("GET", "/");
	const large = { icon: null, config_schema: null, metrics: null, public_jobs: null };
	expect(body).toMatchObject({
		count: 1,
		results: [{ ...created, plugin_info: expect.any(String) }],
	});
	expect(JSON.parse(body.results[0].plugin_info)).toEqual({ ...plugin, ...large });
});

const INVALID = "invalid_input";
const DICTIONARY = "Expected a dictionary of items.";
const REQUIRED = "This field is required.";
const DEEP = "Ensure this value is nested at most 100 levels deep.";
const PROTO = 'The name "__proto__" is not allowed.';
const deep = `{"url": ${"[".repeat(101)}${"]".repeat(101)}}`;

/** In rows with a text, this is the JSON of the config. */
test.each<[body: object | string, code: string, detail: string, attr: string]>([
	[{ plugin: undefined }, "required", REQUIRED, "plugin"],
	[{ order: undefined }, "required", REQUIRED, "order"],
	[
		{ plugin: 2 ** 30 },
		"does_not_exist",
		`Invalid pk "${2 ** 30}" - object does not exist.`,
		"plugin",
	],
	[
		{ order: 2 ** 31 },
		"max_value",
		"Ensure this value is less than or equal to 2147483647.",
		"order",
	],
	[
		{ name: "x".repeat(401) },
		"max_length",
		"Ensure this field has no more than 400 characters.",
		"name",
	],
	[
		{ description: "x".repeat(1001) },
		"max_length",
		"Ensure this field has no more than 1000 characters.",
		"description",
	],
	[{ config: "{" }, INVALID, DICTIONARY, "config"],
	[{ config: [] }, INVALID, DICTIONARY, "config"],
	[{ config: { mode: "slow" } }, "invalid_choice", '"slow" is not a valid choice.', "config__mode"],
	['{"url": "a", "__proto__": "b"}', INVALID, PROTO, "config____proto__"],
	[JSON.stringify('{"url": "a", "__proto__": "b"}'), INVALID, PROTO, "config____proto__"],
	[deep, INVALID, DEEP, "config__url"],
	[JSON.stringify(deep), INVALID, DEEP, "config__url"],
	['{"ids": [9007199254740993]}', INVALID, ROUNDED, "config__ids"],
	[JSON.stringify('{"ids": [9007199254740993]}'), INVALID, ROUNDED, "config__ids"],
])("an invalid body is rejected (%#)", async (body, code, detail, attr) => {
	const { ask, path, plugin } = await home();
	const given = { plugin: plugin.id, order: 1, config: "CONFIG" };
	const raw =
		typeof body === "string"
			? JSON.stringify(given).replace('"CONFIG"', () => body)
			: JSON.stringify({ ...given, config: {}, ...body });
	const headers = { "content-type": "application/json" };
	expect(await ask("POST", path, { raw, headers })).toMatchObject(wrong(code, detail, attr));
});

test("a config’s own name and description override the plugin’s; null removes them", async () => {
	const { at, make } = await home();
	const own = { name: "Mine", description: "My own." };
	const created = await make(own);
	expect(created).toMatchObject(own);
	const { body } = await at("PATCH", `/${created.id}`, { name: null, description: null });
	expect(body).toMatchObject({ name: "Plugin", description: "About it." });
});

describe("a config", () => {
	test("is replaced as a whole, by an object or by JSON text", async () => {
		const { at, make } = await home();
		const created = await make({ config: { url: "a", extra: { deep: [1] } } });
		expect(configOf(created)).toEqual({ url: "a", extra: { deep: [1] } });
		const { body } = await at("PATCH", `/${created.id}`, { config: '{"url": "b"}' });
		expect(configOf(body)).toEqual({ url: "b" });
	});

	test("must have its required fields to be enabled", async () => {
		const { at, make, post } = await home();
		const rejection = wrong("required", REQUIRED, "config__url");
		expect(await post({ enabled: true })).toMatchObject(rejection);
		const path = `/${(await make()).id}`;
		expect(await at("PATCH", path, { enabled: true })).toMatchObject(rejection);
		const complete = { enabled: true, config: { url: "a" } };
		expect((await at("PATCH", path, complete)).body.enabled).toBe(true);
		expect(await at("PATCH", path, { config: {} })).toMatchObject(rejection);
	});

	test("that another request changes in the meantime is read again before it is changed", async () => {
		const { at, make } = await home();
		const { id } = await make({ config: { url: "a", token: "hunter22" } });
		const between = () => at("PATCH", `/${id}`, { config: { url: "b", token: "other999" } });
		const change = { config: { url: "c" }, enabled: true };
		const response = await at("PATCH", `/${id}`, change, racing(between));
		expect(configOf(response.body)).toEqual({ url: "c", token: MASK });
		expect(await unsealed(id)).toBe("other999");
		const { body } = await at("GET", `/${id}/logs`);
		expect(body.results.map(({ message }: { message: string }) => message).sort()).toEqual([
			"The config was changed.",
			"The config was changed.",
			"The plugin was enabled.",
		]);
	});

	test("has its secrets masked in responses and encrypted in the database", async () => {
		const { at, make, here } = await home();
		const created = await make({ config: { url: "a", token: "hunter22" } });
		const { id } = created;
		expect(configOf(created)).toEqual({ url: "a", token: MASK });
		expect(await unsealed(id)).toBe("hunter22");
		const given = { url: "b", token: MASK };
		expect(configOf((await at("PATCH", `/${id}`, { config: given })).body)).toEqual(given);
		expect(await unsealed(id)).toBe("hunter22");
		await at("PATCH", `/${id}`, { config: { url: "e", token: "other999" } });
		expect(await unsealed(id)).toBe("other999");
		const everything = [
			await rowOf(id),
			await db.select().from(pluginLogs),
			(await here("GET", "/activity_log")).body,
			(await at("GET", `/${id}/logs`)).body,
			(await at("GET")).body,
		];
		expect(JSON.stringify(everything)).not.toMatch(/hunter22|other999/);
	});

	test("whose field becomes secret is masked and encrypted immediately, whether the plugin or its source changed", async () => {
		const config = (secret: boolean) => [{ key: "token", type: "string", secret }];
		const change = { "plugin.json": JSON.stringify({ config: config(true) }) };
		for (const [below, body] of [
			["", { config_schema: config(true) }],
			["/update_source", change],
		] as const) {
			const { make, at, here, plugin } = await home(config(false));
			const created = await make({ config: { token: "hunter22" } });
			expect(configOf(created)).toEqual({ token: "hunter22" });
			await here("PATCH", `/pipeline_destinations/${plugin.id}${below}`, { body });
			expect(configOf((await at("GET", `/${created.id}`)).body)).toEqual({ token: MASK });
			await eventually(async () => expect(await unsealed(created.id)).toBe("hunter22"));
		}
	});

	test("with a secret is rejected if no key is configured", async () => {
		const { post } = await home();
		const { body } = await post({ config: { token: "hunter22" } }, { SECRETS_KEY: "" });
		expect(body.detail).toBe("Secrets can't be stored: SECRETS_KEY is not configured.");
	});
});

test("PATCH keeps the plugin, and {} changes nothing", async () => {
	const { at, make, plugin } = await home();
	const created = await make();
	expect((await at("PATCH", `/${created.id}`, {})).body).toEqual(created);
	expect((await at("PATCH", `/${created.id}`, { plugin: plugin.id + 1 })).body).toEqual(created);
	expect((await at("PATCH", `/${created.id}`, { order: "x" })).body).toMatchObject({
		code: "invalid_input",
		attr: "order",
	});
	expect((await at("PATCH", "/999999999", { order: "x" })).status).toBe(404);
});

test("a config marked as deleted is disabled and not listed, but can be restored; DELETE is permanent", async () => {
	const { at, make } = await home();
	const { id } = await make({ config: { url: "a" }, enabled: true });
	expect((await at("PATCH", `/${id}`, { deleted: true, enabled: true })).body).toMatchObject({
		deleted: true,
		enabled: false,
	});
	expect((await at("GET")).body.count).toBe(0);
	expect((await at("GET", `/${id}`)).body.deleted).toBe(true);
	expect((await at("PATCH", `/${id}`, { deleted: false })).body).toMatchObject({
		deleted: false,
		enabled: false,
	});
	expect((await at("GET")).body.count).toBe(1);
	expect((await at("DELETE", `/${id}/`)).status).toBe(204);
	expect((await at("GET", `/${id}`)).status).toBe(404);
	expect(await db.select().from(pluginLogs).where(eq(pluginLogs.plugin_config_id, id))).toEqual([]);
});

test("an organization without access has no configs", async () => {
	const { at, make, post, id } = await home();
	const path = `/${(await make()).id}`;
	await db.update(organizations).set({ plugins_access_level: 0 }).where(eq(organizations.uuid, id));
	const detail = "Plugin configuration is not available for the current organization!";
	for (const response of [
		await post(),
		await at("PATCH", "/rearrange", { orders: {} }),
		await at("POST", `${path}/job`, { job: { type: "go" } }),
	])
		expect(response).toMatchObject(wrong(INVALID, detail, null));
	expect((await at("GET")).body.count).toBe(0);
	for (const [method, body] of [["GET"], ["PATCH", { name: "x" }], ["DELETE"]] as const)
		expect((await at(method, path, body)).status).toBe(404);
});

test("a config is not found on the path of another project of its organization", async () => {
	const { ask, at, make, id } = await home();
	const created = await make();
	const [second] = await db
		.insert(projects)
		.values({ organization_id: organizationId(id), name: "Second" })
		.returning();
	const other = `/api/projects/${second?.id}/plugin_configs`;
	expect(await ask("GET", other)).toMatchObject({ status: 200, body: { count: 0, results: [] } });
	for (const [method, below, body] of [
		["GET", ""],
		["PATCH", "", { name: "x" }],
		["DELETE", ""],
		["POST", "/job", { job: { type: "go" } }],
		["GET", "/logs"],
	] as const)
		expect((await ask(method, `${other}/${created.id}${below}`, { body })).status).toBe(404);
	expect((await at("GET", `/${created.id}`)).body).toEqual(created);
});

test("the list is sorted by order, which rearrange changes for enabled configs", async () => {
	const { at, make } = await home([]);
	const [a, b, off] = [
		await make({ order: 2, enabled: true }),
		await make({ order: 1, enabled: true }),
		await make({ order: 3 }),
	];
	const ids = async () => (await at("GET")).body.results.map(({ id }: { id: number }) => id);
	expect(await ids()).toEqual([b.id, a.id, off.id]);
	const otherTenant = await home([]);
	const other = await otherTenant.make({ order: 5, enabled: true });
	const response = await at("PATCH", "/rearrange/", {
		orders: {
			[a.id]: 1,
			[b.id]: 2,
			[off.id]: 0,
			[other.id]: 9,
			x: 1,
			999999: 1,
		},
	});
	expect(response).toMatchObject({ status: 200, body: null });
	expect(await ids()).toEqual([a.id, b.id, off.id]);
	expect((await at("GET", `/${off.id}`)).body.order).toBe(3);
	expect((await otherTenant.at("GET", `/${other.id}`)).body.order).toBe(5);
	expect(await at("PATCH", "/rearrange", { orders: { [a.id]: "x" } })).toMatchObject(
		wrong("invalid_input", "A valid integer is required.", `orders__${a.id}`),
	);
});

describe("rearrange", () => {
	/**
	 * Two enabled configs with orders 1 and 2, and functions that read their orders and activity
	 * entries.
	 */
	async function rearranging() {
		const tenant = await home([]);
		const [a, b] = [
			await tenant.make({ order: 1, enabled: true }),
			await tenant.make({ order: 2, enabled: true }),
		];
		const orders = async () =>
			Promise.all([a, b].map(async ({ id }) => (await tenant.at("GET", `/${id}`)).body.order));
		const entries = async () =>
			(await tenant.here("GET", "/activity_log?activity=rearranged")).body.results;
		return { ...tenant, a, b, orders, entries };
	}

	test("writes one entry about the project with the old and new order of each moved config", async () => {
		const { at, a, b, orders, entries, project } = await rearranging();
		const response = await at("PATCH", "/rearrange", { orders: { [a.id]: 5, [b.id]: 2 } });
		expect(cost(response).trips).toBe(2);
		expect(await orders()).toEqual([5, 2]);
		expect(await entries()).toMatchObject([
			{
				scope: "PluginConfigOrder",
				item_id: String(project),
				detail: {
					changes: [{ field: String(a.id), action: "changed", before: 1, after: 5 }],
				},
			},
		]);
	});

	test("changes nothing and writes no entry if no config moves", async () => {
		const { at, a, b, orders, entries } = await rearranging();
		for (const body of [
			{},
			{ plugin: 1, enabled: false, order: 7, name: "x", deleted: true },
			{ orders: {} },
			{ orders: { [a.id]: 1, [b.id]: 2 } },
			{ orders: { "999999": 3, [`0${a.id}`]: 9, x: 1 } },
		])
			expect(await at("PATCH", "/rearrange", body)).toMatchObject({
				status: 200,
				body: null,
			});
		expect(await orders()).toEqual([1, 2]);
		expect(await entries()).toEqual([]);
		expect((await at("GET", `/${a.id}`)).body).toEqual(a);
	});

	test("starts again if another request changed the orders in the meantime", async () => {
		const { at, a, b, orders, entries } = await rearranging();
		const between = () => at("PATCH", "/rearrange", { orders: { [a.id]: 8, [b.id]: 9 } });
		await at("PATCH", "/rearrange", { orders: { [a.id]: 2, [b.id]: 9 } }, racing(between));
		expect(await orders()).toEqual([2, 9]);
		const [last] = await entries();
		expect(last.detail.changes).toEqual([
			{ field: String(a.id), action: "changed", before: 8, after: 2 },
		]);
	});

	test("accepts at most 10,000 orders, and no key __proto__", async () => {
		const { at, ask, a, path } = await rearranging();
		const orders = Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [i, 1]));
		const detail = "At most 10000 configs can be rearranged in a single request.";
		expect(await at("PATCH", "/rearrange", { orders })).toMatchObject(
			wrong(INVALID, detail, "orders"),
		);
		const raw = `{"orders": {"${a.id}": 3, "__proto__": 1}}`;
		const headers = { "content-type": "application/json" };
		expect(await ask("PATCH", `${path}/rearrange`, { raw, headers })).toMatchObject(
			wrong(INVALID, PROTO, "orders____proto__"),
		);
	});
});

test("every activity entry about plugins and configs has the id as item_id", async () => {
	const { at, make, here, plugin } = await home([]);
	const path = `/pipeline_destinations/${plugin.id}`;
	await here("PATCH", `${path}/update_source`, {
		body: { "index.js": "exports.jobs = { go() {} }" },
	});
	const { id } = await make({ enabled: true });
	await at("PATCH", `/${id}`, { name: "x" });
	await at("PATCH", "/rearrange", { orders: { [id]: 7 } });
	await at("POST", `/${id}/job`, { job: { type: "go" } });
	await at("DELETE", `/${id}`);
	await here("PATCH", path, { body: { name: "x" } });
	await here("DELETE", path);
	const { results } = (await here("GET", "/activity_log")).body;
	expect(results).toHaveLength(9);
	for (const { item_id } of results) expect(item_id).toMatch(/^\d+$/);
});

test("responses without a body have content-length 0, and a link if there is something to read", async () => {
	const { at, make, ask, here, plugin } = await home([]);
	const path = `/pipeline_destinations/${plugin.id}`;
	await here("PATCH", path, { body: { capabilities: { jobs: ["go"] } } });
	const { id } = await make({ name: "Linked" });
	const empty = async (method: string, below: string, body?: object) => {
		const response = await at(method, below, body);
		expect(response).toMatchObject({ status: 200, body: null });
		expect(response.headers.get("content-length")).toBe("0");
		expect(response.headers.get("content-encoding")).toBeNull();
		return /^<(.+)>; rel="(.+)"$/.exec(response.headers.get("link") ?? "")?.slice(1) ?? [];
	};
	const [to = "", rel] = await empty("GET", `/${id}/activity/`);
	expect(rel).toBe("alternate");
	expect((await ask("GET", to)).body).toMatchObject({
		count: 1,
		results: [{ scope: "PluginConfig", item_id: String(id) }],
	});
	await empty("POST", `/${id}/job`, { job: { type: "go" } });
	await empty("PATCH", "/rearrange", {});
	expect(await empty("GET", `/${id}/frontend`)).toEqual([]);
	expect((await at("GET", `/${id}/frontend.js`)).status).toBe(404);
	const source = "export const scene: object = <p>Hi</p>";
	await here("PATCH", `${path}/update_source`, { body: { "frontend.tsx": source } });
	const [script = "", type] = await empty("GET", `/${id}/frontend/`);
	expect(type).toBe('alternate"; type="text/javascript');
	const { headers, body } = await ask("GET", script);
	expect(headers.get("content-type")).toBe("text/javascript");
	expect(body).toContain("React.createElement");
});

test("migrate is rejected, because no migrations exist", async () => {
	const { at, make } = await home();
	expect(await at("POST", `/${(await make()).id}/migrate/`)).toMatchObject(
		wrong("invalid_input", "No migration available for this plugin", null),
	);
});

describe("the log", () => {
	test("has entries for enabling, disabling and changing the config, newest first", async () => {
		const { at, make, project, plugin } = await home();
		const { id } = await make({ config: { url: "a" }, enabled: true });
		await at("PATCH", `/${id}`, { config: { url: "b" } });
		await at("PATCH", `/${id}`, { enabled: false });
		const { body } = await at("GET", `/${id}/logs/`);
		expect(body.results.map(({ message }: { message: string }) => message)).toEqual([
			"The plugin was disabled.",
			"The config was changed.",
			"The plugin was enabled.",
		]);
		expect(body.results[0]).toEqual({
			id: expect.any(String),
			team_id: project,
			plugin_id: plugin.id,
			plugin_config_id: id,
			timestamp: expect.any(String),
			source: "SYSTEM",
			type: "INFO",
			message: "The plugin was disabled.",
			instance_id: expect.any(String),
		});
	});

	/** Adds `n` log entries, one second apart, as rows of ten. */
	const fill = async (config: number, n: number) => {
		await db.delete(pluginLogs).where(eq(pluginLogs.plugin_config_id, config));
		const at = sql`(${Date.parse("2026-01-01")} + 1000 * (i.i * 10 + 9 - j.value))`;
		await db.run(sql`insert into plugin_logs
			with recursive i (i) as (select 0 union all select i + 1 from i where i + 1 < ${n / 10})
			select ${config}, ${Date.parse("2026-01-01") + 9000} + 10000 * i, 10 * (i + 1), '01900000-0000-7000-8000-000000000000', (
				select json_group_array(json_array(${at}, iif((9 - j.value) % 2, 'ERROR', 'LOG'), 'Message ' || (i.i * 10 + 9 - j.value), 'CONSOLE'))
				from json_each('[0,1,2,3,4,5,6,7,8,9]') as j)
			from i`);
	};

	test("can be filtered", async () => {
		const tenant = await home();
		const { id } = await tenant.make();
		await fill(id, 10);
		const count = async (query: string) =>
			(await tenant.at("GET", `/${id}/logs?${query}`)).body.count;
		expect(await count("")).toBe(10);
		expect(await count("type_filter=ERROR")).toBe(5);
		expect(await count("type_filter=ERROR&type_filter=LOG")).toBe(10);
		expect(await count("search=MESSAGE%207")).toBe(1);
		expect(await count("after=2026-01-01T00:00:03Z")).toBe(6);
		expect(await count("before=2026-01-01T00:00:03Z")).toBe(3);
		for (const [query, body] of [
			["type_filter=LOUD", { code: "invalid_choice", attr: "type_filter" }],
			["after=x", { code: INVALID, attr: "after" }],
		] as const)
			expect((await tenant.at("GET", `/${id}/logs?${query}`)).body).toMatchObject(body);
		expect((await tenant.at("GET", "/999999999/logs")).status).toBe(404);
	});

	test("of one job with many entries costs by the entries of the page, not of the job", async () => {
		const tenant = await home();
		const { id } = await tenant.make();
		await db.delete(pluginLogs).where(eq(pluginLogs.plugin_config_id, id));
		const n = 270;
		const entries = Array.from({ length: n }, (_, i) => [
			1_767_225_600_000,
			"LOG",
			`${n - i}`,
			"CONSOLE",
		]);
		await db.insert(pluginLogs).values({
			...{ plugin_config_id: id, position: 1_767_225_600_000, total: n },
			...{ id: "01900000-0000-7000-8000-000000000000", entries: JSON.stringify(entries) },
		});
		const messages: string[] = [];
		const reads: number[] = [];
		let path: string | null = `/api/projects/${tenant.project}/plugin_configs/${id}/logs?limit=20`;
		while (path) {
			const response = await tenant.ask("GET", path);
			reads.push(cost(response).read);
			for (const { message } of response.body.results) messages.push(message);
			path = response.body.next;
		}
		expect(messages).toEqual(Array.from({ length: n }, (_, i) => `${n - i}`));
		expect(Math.max(...reads)).toBeLessThan(4 * 20);
		const skipping = await tenant.at("GET", `/${id}/logs?limit=20&offset=255`);
		expect(skipping.body).toMatchObject({ count: n, next: null });
		expect(skipping.body.results.map(({ message }: { message: string }) => message)).toEqual(
			messages.slice(255),
		);
	});

	test("costs the same per page however long it is, also when paging through", async () => {
		const tenant = await home();
		const [short, long] = [(await tenant.make()).id, (await tenant.make()).id];
		await fill(short, 1500);
		await fill(long, 3000);
		const page = async (id: number) => tenant.at("GET", `/${id}/logs?limit=100`);
		const [a, b] = [cost(await page(short)), cost(await page(long))];
		expect(a).toMatchObject({ trips: 1, written: 0 });
		expect(Math.abs(a.read - b.read)).toBeLessThanOrEqual(2);
		expect(b.read).toBeLessThan(1200);
		expect((await page(long)).body.count).toBe(3000);
		let read = 0;
		let path: string | null =
			`/api/projects/${tenant.project}/plugin_configs/${long}/logs?limit=1000`;
		while (path) {
			const response = await tenant.ask("GET", path);
			read += cost(response).read;
			path = response.body.next;
		}
		expect(read).toBeLessThan(12 * 3000);
	});
});
