import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { isSealed } from "../../../src/auth/secrets.ts";
import { organizations } from "../../../src/db/schema/organizations.ts";
import { pluginConfigs, pluginLogs } from "../../../src/db/schema/plugin_configs.ts";
import { plugins } from "../../../src/db/schema/plugins.ts";
import { configCipher } from "../../../src/plugins/plugins/config.ts";
import { wrong } from "../../support/errors.ts";
import { eventually } from "../../support/time.ts";
import { cost, db, racing, world } from "../../support/world.ts";

const MASK = "**************** SECRET ****************";

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
	const plugin = (
		await tenant.here("POST", "/pipeline_destinations", {
			body: { name: "Plugin", description: "About it.", config_schema: schema },
		})
	).body;
	const at = (method: string, path = "", body?: unknown) =>
		tenant.ask(
			method,
			`/api/projects/${tenant.project}/plugin_configs${path}`,
			body === undefined ? {} : { body },
		);
	const make = async (body: object = {}) => {
		const created = await at("POST", "/", {
			plugin: plugin.id,
			order: 1,
			...body,
		});
		expect(created.status).toBe(201);
		return created.body;
	};
	return { ...tenant, plugin, at, make };
}

/** The decrypted value of a secret field in a stored config. */
const unsealed = async (
	row: typeof pluginConfigs.$inferSelect | undefined,
	key = "token",
	bindings: Env = env,
) => row && configCipher(bindings, row).unseal(`config.${key}`, String(row.config[key]));

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

test.each([
	[{ order: 1 }, "required", "This field is required.", "plugin"],
	[{ plugin: 1 }, "required", "This field is required.", "order"],
	[
		{ plugin: 2 ** 30, order: 1 },
		"does_not_exist",
		`Invalid pk "${2 ** 30}" - object does not exist.`,
		"plugin",
	],
	[
		{ plugin: 1, order: 2 ** 31 },
		"max_value",
		"Ensure this value is less than or equal to 2147483647.",
		"order",
	],
	[
		{ plugin: 1, order: 1, name: "x".repeat(401) },
		"max_length",
		"Ensure this field has no more than 400 characters.",
		"name",
	],
	[
		{ plugin: 1, order: 1, description: "x".repeat(1001) },
		"max_length",
		"Ensure this field has no more than 1000 characters.",
		"description",
	],
	[
		{ plugin: 1, order: 1, config: "{" },
		"invalid_input",
		"Expected a dictionary of items.",
		"config",
	],
	[
		{ plugin: 1, order: 1, config: [] },
		"invalid_input",
		"Expected a dictionary of items.",
		"config",
	],
])("%j is rejected", async (body, code, detail, attr) => {
	const { at } = await home();
	expect(await at("POST", "", body)).toMatchObject(wrong(code, detail, attr));
});

test("a plugin that the organization doesn’t see does not exist for it", async () => {
	const [first, second] = [await home(), await home()];
	expect(await first.at("POST", "", { plugin: second.plugin.id, order: 1 })).toMatchObject({
		status: 400,
		body: { code: "does_not_exist", attr: "plugin" },
	});
});

test("a config’s own name and description override the plugin’s; null removes them", async () => {
	const { at, make } = await home();
	const created = await make({ name: "Mine", description: "My own." });
	expect(created).toMatchObject({ name: "Mine", description: "My own." });
	expect(
		(await at("PATCH", `/${created.id}`, { name: null, description: null })).body,
	).toMatchObject({
		name: "Plugin",
		description: "About it.",
	});
});

describe("a config", () => {
	test("is replaced as a whole, by an object or by JSON text", async () => {
		const { at, make } = await home();
		const created = await make({ config: { url: "a", extra: { deep: [1] } } });
		expect(configOf(created)).toEqual({ url: "a", extra: { deep: [1] } });
		expect(
			configOf((await at("PATCH", `/${created.id}`, { config: '{"url": "b"}' })).body),
		).toEqual({
			url: "b",
		});
	});

	test("must have its required fields to be enabled", async () => {
		const { at, make } = await home();
		const rejection = wrong("required", "This field is required.", "config__url");
		expect(
			await at("POST", "", {
				plugin: (await make()).plugin,
				order: 1,
				enabled: true,
			}),
		).toMatchObject(rejection);
		const created = await make();
		expect(await at("PATCH", `/${created.id}`, { enabled: true })).toMatchObject(rejection);
		expect(
			(
				await at("PATCH", `/${created.id}`, {
					enabled: true,
					config: { url: "a" },
				})
			).body.enabled,
		).toBe(true);
		expect(await at("PATCH", `/${created.id}`, { config: {} })).toMatchObject(rejection);
	});

	test.each([
		[{ mode: "slow" }, "invalid_choice", '"slow" is not a valid choice.', "config__mode"],
		[{ url: 7 }, "invalid_input", "Not a valid string.", "config__url"],
	])("%j is rejected", async (config, code, detail, attr) => {
		const { make, at } = await home();
		expect(await at("PATCH", `/${(await make()).id}`, { config })).toMatchObject(
			wrong(code, detail, attr),
		);
	});

	test.each(['{"url": "a", "__proto__": "b"}', JSON.stringify('{"url": "a", "__proto__": "b"}')])(
		"with a key __proto__ is rejected: %s",
		async (config) => {
			const { ask, project, plugin } = await home();
			expect(
				await ask("POST", `/api/projects/${project}/plugin_configs`, {
					raw: `{"plugin": ${plugin.id}, "order": 1, "config": ${config}}`,
					headers: { "content-type": "application/json" },
				}),
			).toMatchObject(
				wrong("invalid_input", 'The name "__proto__" is not allowed.', "config____proto__"),
			);
		},
	);

	const deep = `{"url": ${"[".repeat(101)}${"]".repeat(101)}}`;

	test.each([JSON.parse(deep), deep])(
		"nested more than 100 levels deep is rejected: %#",
		async (config) => {
			const { make, at } = await home();
			expect(await at("PATCH", `/${(await make()).id}`, { config })).toMatchObject(
				wrong(
					"invalid_input",
					"Ensure this value is nested at most 100 levels deep.",
					"config__url",
				),
			);
		},
	);

	test.each([
		"9007199254740993",
		"-12345678901234567890",
		"3.14159265358979323846",
		"1e400",
		"1e-400",
		`1.${"0".repeat(400)}`,
	])("with the number %s, which a double would change, is rejected", async (number) => {
		const { ask, project, make } = await home();
		const { id } = await make({ config: { url: "a" } });
		const path = `/api/projects/${project}/plugin_configs/${id}`;
		const headers = { "content-type": "application/json" };
		const config = `{"url": "9007199254740993", "ids": [${number}]}`;
		const rejected = (attr: string) => wrong("invalid_input", ROUNDED, attr);
		for (const given of [config, JSON.stringify(config)])
			expect(await ask("PATCH", path, { raw: `{"config": ${given}}`, headers })).toMatchObject(
				rejected("config__ids"),
			);
		const job = `{"job": {"type": "x", "payload": {"id": ${number}}}}`;
		expect(await ask("POST", `${path}/job`, { raw: job, headers })).toMatchObject(
			rejected("job__payload__id"),
		);
	});

	test("keeps the value of all other numbers", async () => {
		const { ask, project, make } = await home();
		const { id } = await make({ config: { url: "a" } });
		const { status, body } = await ask("PATCH", `/api/projects/${project}/plugin_configs/${id}`, {
			raw: '{"config": {"url": "12345678901234567890", "n": [9007199254740992, 1.0, 100e-2, 1E22, 0.10, -0.0, 0.30000000000000004, 1.7976931348623157e308, 5e-324]}}',
			headers: { "content-type": "application/json" },
		});
		expect({ status, n: configOf(body).n }).toEqual({
			status: 200,
			n: [2 ** 53, 1, 1, 1e22, 0.1, 0, 0.1 + 0.2, Number.MAX_VALUE, Number.MIN_VALUE],
		});
	});

	test("of a field of unknown type is rejected", async () => {
		const { at, plugin } = await home([{ key: "k", type: "colour" }]);
		expect(
			await at("POST", "", {
				plugin: plugin.id,
				order: 1,
				config: { k: "red" },
			}),
		).toMatchObject(wrong("invalid_input", 'Unknown type "colour".', "config__k"));
	});

	test("that another request changes in the meantime is read again before it is changed", async () => {
		const { ask, project, at, make } = await home();
		const { id } = await make({ config: { url: "a", token: "hunter22" } });
		const between = async () => {
			await at("PATCH", `/${id}`, { config: { url: "b", token: "other999" } });
		};
		const response = await ask("PATCH", `/api/projects/${project}/plugin_configs/${id}`, {
			body: { config: { url: "c" }, enabled: true },
			env: racing(between),
		});
		expect(response.status).toBe(200);
		expect(configOf(response.body)).toEqual({ url: "c", token: MASK });
		const [row] = await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id));
		expect(await unsealed(row)).toBe("other999");
		const { body } = await at("GET", `/${id}/logs`);
		expect(body.results.map(({ message }: { message: string }) => message).toSorted()).toEqual([
			"The config was changed.",
			"The config was changed.",
			"The plugin was enabled.",
		]);
	});

	test("whose schema has values of the wrong type still masks its secret fields", async () => {
		const { make } = await home([
			{ key: "token", type: 7, secret: 1, required: "yes", choices: "none" },
			{ key: "other", secret: true, choices: [1, 2] },
			{ key: 7, secret: true },
		]);
		const config = { token: "hunter22", other: "hunter22", 7: "hunter22" };
		expect(configOf(await make({ config }))).toEqual({ token: MASK, other: MASK, 7: MASK });
	});

	test("whose schema is a map masks by its keys, whatever its fields say", async () => {
		const { make } = await home({ token: { key: "other", secret: true } });
		expect(configOf(await make({ config: { token: "hunter22", other: "shown" } }))).toEqual({
			token: MASK,
			other: "shown",
		});
	});

	test("has its secrets masked in responses and encrypted in the database", async () => {
		const { at, make, here } = await home();
		const created = await make({ config: { url: "a", token: "hunter22" } });
		const stored = async () => {
			const [row] = await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, created.id));
			return row;
		};
		expect(configOf(created)).toEqual({ url: "a", token: MASK });
		expect(await unsealed(await stored())).toBe("hunter22");
		for (const config of [{ url: "b", token: MASK }, { url: "c", token: null }, { url: "d" }]) {
			expect(configOf((await at("PATCH", `/${created.id}`, { config })).body)).toEqual({
				url: config.url,
				token: MASK,
			});
			expect(await unsealed(await stored())).toBe("hunter22");
		}
		await at("PATCH", `/${created.id}`, {
			config: { url: "e", token: "other999" },
		});
		expect(await unsealed(await stored())).toBe("other999");
		const everything = [
			await db.select().from(pluginConfigs),
			await db.select().from(pluginLogs),
			(await here("GET", "/activity_log")).body,
			(await at("GET", `/${created.id}/logs`)).body,
			(await at("GET")).body,
		];
		expect(JSON.stringify(everything)).not.toMatch(/hunter22|other999/);
		expect(
			configOf((await at("PATCH", `/${created.id}`, { config: { url: "f", token: "" } })).body),
		).toEqual({ url: "f", token: "" });
	});

	describe("of a field that", () => {
		const field = (secret: boolean) => [
			{
				key: "token",
				type: "choice",
				choices: ["hunter22", "other999"],
				secret,
			},
		];
		/** A config with a field whose schema can be created secret or not. */
		async function withField(secret: boolean) {
			const tenant = await home(field(secret));
			const { id } = await tenant.make({ config: { token: "hunter22" } });
			const stored = async () => {
				const [row] = await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id));
				return row;
			};
			const path = `/pipeline_destinations/${tenant.plugin.id}`;
			const setSecret = (secret: boolean) =>
				tenant.here("PATCH", path, { body: { config_schema: field(secret) } });
			const read = async () => configOf((await tenant.at("GET", `/${id}`)).body);
			const write = async (config: object) =>
				configOf((await tenant.at("PATCH", `/${id}`, { config })).body);
			return { ...tenant, id, path, stored, setSecret, read, write };
		}

		test("becomes secret is masked and encrypted immediately, whether the plugin or its source changed", async () => {
			const first = await withField(false);
			expect(await first.read()).toEqual({ token: "hunter22" });
			await first.setSecret(true);
			expect(await first.read()).toEqual({ token: MASK });
			await eventually(async () => expect(await unsealed(await first.stored())).toBe("hunter22"));
			const second = await withField(false);
			const manifest = JSON.stringify({ config: field(true) });
			await second.here("PATCH", `${second.path}/update_source`, {
				body: { "plugin.json": manifest },
			});
			expect(await second.read()).toEqual({ token: MASK });
			await eventually(async () => expect(await unsealed(await second.stored())).toBe("hunter22"));
		});

		test("became secret but isn't encrypted yet is masked, and encrypted by the next write", async () => {
			const { plugin, read, write, stored } = await withField(false);
			await db
				.update(plugins)
				.set({ config_schema: field(true) })
				.where(eq(plugins.id, plugin.id));
			expect(await read()).toEqual({ token: MASK });
			expect((await stored())?.config.token).toBe("hunter22");
			expect(await write({ token: MASK, more: 1 })).toEqual({
				token: MASK,
				more: 1,
			});
			expect(await unsealed(await stored())).toBe("hunter22");
		});

		test("is no longer secret stays encrypted and masked until it gets another value", async () => {
			const { setSecret, read, write, stored } = await withField(true);
			await setSecret(false);
			expect(await read()).toEqual({ token: MASK });
			expect(await write({ token: MASK, more: 1 })).toEqual({
				token: MASK,
				more: 1,
			});
			expect(await unsealed(await stored())).toBe("hunter22");
			expect(await write({ token: "other999" })).toEqual({ token: "other999" });
			expect((await stored())?.config.token).toBe("other999");
		});
	});

	test("can contain a value that looks sealed; it is stored sealed and never mistaken for our own", async () => {
		const { make } = await home();
		const forged = `sealed:AAAAAAAA:AAAAAAAAAAAAAAAA:${"A".repeat(22)}`;
		expect(isSealed(forged)).toBe(true);
		const { id } = await make({ config: { url: forged, more: forged } });
		const [row] = await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id));
		expect(await unsealed(row, "url")).toBe(forged);
		expect(await unsealed(row, "more")).toBe(forged);
	});

	test("with a secret is rejected if no key is configured; after a rotation, old secrets can still be read", async () => {
		const { ask, project, plugin, make, at } = await home();
		const body = { plugin: plugin.id, order: 1, config: { token: "hunter22" } };
		const response = await ask("POST", `/api/projects/${project}/plugin_configs`, {
			body,
			env: { SECRETS_KEY: "" },
		});
		expect(response.body.detail).toBe("Secrets can't be stored: SECRETS_KEY is not configured.");
		const { id } = await make({ config: { token: "hunter22" } });
		const [row] = await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id));
		const rotated = {
			...env,
			SECRETS_KEY: `${btoa("n".repeat(32))},${env.SECRETS_KEY}`,
		};
		expect(await unsealed(row, "token", rotated)).toBe("hunter22");
		await expect(
			unsealed(row, "token", { ...env, SECRETS_KEY: btoa("n".repeat(32)) }),
		).rejects.toThrow("No key");
		expect((await at("GET", `/${id}`)).status).toBe(200);
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
	const { at, make, id } = await home();
	const created = await make();
	await db.update(organizations).set({ plugins_access_level: 0 }).where(eq(organizations.uuid, id));
	const rejection = wrong(
		"invalid_input",
		"Plugin configuration is not available for the current organization!",
		null,
	);
	expect((await at("GET")).body.count).toBe(0);
	expect((await at("GET", `/${created.id}`)).status).toBe(404);
	expect(await at("POST", "", { plugin: created.plugin, order: 1 })).toMatchObject(rejection);
	expect(await at("PATCH", "/rearrange", { orders: {} })).toMatchObject(rejection);
	const job = { job: { type: "go" } };
	expect(await at("POST", `/${created.id}/job`, job)).toMatchObject(rejection);
	expect((await at("PATCH", `/${created.id}`, { name: "x" })).status).toBe(404);
	expect((await at("DELETE", `/${created.id}`)).status).toBe(404);
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
		const path = `/api/projects/${tenant.project}/plugin_configs/rearrange`;
		return { ...tenant, a, b, orders, entries, path };
	}

	test("writes one entry about the project with the old and new order of each moved config", async () => {
		const { at, a, b, orders, entries, project } = await rearranging();
		const response = await at("PATCH", "/rearrange", {
			orders: { [a.id]: 5, [b.id]: 2 },
		});
		expect(response.status).toBe(200);
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
		const { at, ask, a, b, orders, entries, path } = await rearranging();
		const between = () => at("PATCH", "/rearrange", { orders: { [a.id]: 8, [b.id]: 9 } });
		const response = await ask("PATCH", path, {
			body: { orders: { [a.id]: 2, [b.id]: 9 } },
			env: racing(between),
		});
		expect(response.status).toBe(200);
		expect(await orders()).toEqual([2, 9]);
		const [last] = await entries();
		expect(last.detail.changes).toEqual([
			{ field: String(a.id), action: "changed", before: 8, after: 2 },
		]);
	});

	test("accepts at most 10,000 orders, and no key __proto__", async () => {
		const { at, ask, a, path } = await rearranging();
		const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [i, 1]));
		expect(await at("PATCH", "/rearrange", { orders: many })).toMatchObject(
			wrong(
				"invalid_input",
				"At most 10000 configs can be rearranged in a single request.",
				"orders",
			),
		);
		expect(
			await ask("PATCH", path, {
				raw: `{"orders": {"${a.id}": 3, "__proto__": 1}}`,
				headers: { "content-type": "application/json" },
			}),
		).toMatchObject(
			wrong("invalid_input", 'The name "__proto__" is not allowed.', "orders____proto__"),
		);
	});
});

describe("a job", () => {
	const MISSING = wrong("invalid_input", "The job type must be specified!", null);

	test.each([
		[undefined],
		[{}],
		[{ job: null }],
		[{ job: {} }],
		[{ job: { type: null, payload: {} } }],
		[{ plugin: 1, enabled: true, order: 1, name: "x", deleted: false }],
	])("without a type is rejected: %j", async (body) => {
		const { at, make } = await home([]);
		const { id } = await make();
		expect(await at("POST", `/${id}/job`, body)).toMatchObject(MISSING);
	});

	test("is named in its activity entry, without its payload", async () => {
		const { at, make, here, plugin } = await home([]);
		await here("PATCH", `/pipeline_destinations/${plugin.id}`, {
			body: { capabilities: { jobs: ["go"] } },
		});
		const { id } = await make();
		const job = { type: "go", payload: { token: "hunter22" } };
		expect((await at("POST", `/${id}/job`, { job })).status).toBe(200);
		const { results } = (await here("GET", "/activity_log?activity=job_triggered")).body;
		expect(results).toMatchObject([
			{
				scope: "PluginConfig",
				item_id: String(id),
				detail: { trigger: { job: { type: "go", operation: "start" } } },
			},
		]);
		expect(JSON.stringify(results)).not.toContain("hunter22");
	});

	test("with a payload key __proto__ is rejected", async () => {
		const { make, ask, project } = await home([]);
		const { id } = await make();
		expect(
			await ask("POST", `/api/projects/${project}/plugin_configs/${id}/job`, {
				raw: '{"job": {"type": "go", "payload": {"__proto__": {}}}}',
				headers: { "content-type": "application/json" },
			}),
		).toMatchObject({
			status: 400,
			body: { attr: "job__payload____proto__" },
		});
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

test("responses without a body have content-length 0 and no content-encoding", async () => {
	const { at, make, here, plugin } = await home([]);
	await here("PATCH", `/pipeline_destinations/${plugin.id}`, {
		body: { capabilities: { jobs: ["go"] } },
	});
	const { id } = await make();
	for (const response of [
		await at("GET", `/${id}/activity`),
		await at("GET", `/${id}/frontend`),
		await at("POST", `/${id}/job`, { job: { type: "go" } }),
		await at("PATCH", "/rearrange", {}),
	]) {
		expect(response).toMatchObject({ status: 200, body: null });
		expect(response.headers.get("content-length")).toBe("0");
		expect(response.headers.get("content-encoding")).toBeNull();
	}
});

test("activity and frontend have no body, but a link if there is something to read", async () => {
	const { at, make, ask, here, plugin } = await home([]);
	const { id } = await make({ name: "Linked" });
	const activity = await at("GET", `/${id}/activity/`);
	expect([activity.status, activity.body, activity.headers.get("content-length")]).toEqual([
		200,
		null,
		"0",
	]);
	const [, to = ""] = /^<(.+)>; rel="alternate"$/.exec(activity.headers.get("link") ?? "") ?? [];
	expect((await ask("GET", to)).body).toMatchObject({
		count: 1,
		results: [{ scope: "PluginConfig", item_id: String(id) }],
	});
	expect((await at("GET", `/${id}/frontend`)).headers.get("link")).toBeNull();
	expect((await at("GET", `/${id}/frontend.js`)).status).toBe(404);
	await here("PATCH", `/pipeline_destinations/${plugin.id}/update_source`, {
		body: {
			"frontend.tsx": "export const scene: object = <p>Hi</p>",
			"index.js": "export function onEvent() {}",
		},
	});
	const frontend = await at("GET", `/${id}/frontend/`);
	const [, script = ""] =
		/^<(.+)>; rel="alternate"; type="text\/javascript"$/.exec(frontend.headers.get("link") ?? "") ??
		[];
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
		expect((await tenant.at("GET", `/${id}/logs?type_filter=LOUD`)).body).toMatchObject({
			code: "invalid_choice",
			attr: "type_filter",
		});
		expect((await tenant.at("GET", `/${id}/logs?after=x`)).body).toMatchObject({
			code: "invalid_input",
			attr: "after",
		});
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
		await fill(short, 2000);
		await fill(long, 20_000);
		const page = async (id: number) => tenant.at("GET", `/${id}/logs?limit=100`);
		const [a, b] = [cost(await page(short)), cost(await page(long))];
		expect(a).toMatchObject({ trips: 1, written: 0 });
		expect(Math.abs(a.read - b.read)).toBeLessThanOrEqual(2);
		expect(b.read).toBeLessThan(1200);
		expect((await page(long)).body.count).toBe(20_000);
		let read = 0;
		let path: string | null =
			`/api/projects/${tenant.project}/plugin_configs/${long}/logs?limit=1000`;
		while (path) {
			const response = await tenant.ask("GET", path);
			read += cost(response).read;
			path = response.body.next;
		}
		expect(read).toBeLessThan(12 * 20_000);
	});
});
