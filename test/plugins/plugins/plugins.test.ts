import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizationId, organizations } from "../../../src/db/schema/organizations.ts";
import {
	pluginConfigs,
	pluginSourceFiles,
	pluginStorage,
	plugins,
} from "../../../src/db/schema/plugins.ts";
import { forbidden, wrong } from "../../support/errors.ts";
import { HEAD, RELEASE, TOKEN } from "../../support/registry.ts";
import { eventually } from "../../support/time.ts";
import { call, cost, db, join, racing, times, weighing, world } from "../../support/world.ts";

const FAMILIES = [
	"pipeline_destinations",
	"pipeline_frontend_apps",
	"pipeline_import_apps",
] as const;
const [DESTINATIONS, FRONTEND, IMPORTS] = FAMILIES;

type Home = Awaited<ReturnType<typeof world>>;

const make = async ({ here }: Home, body: object = {}, family: string = DESTINATIONS) => {
	const created = await here("POST", `/${family}`, { body });
	expect(created.status).toBe(201);
	return created.body;
};

/** An organization with a plugin. */
async function home(body: object = {}) {
	const tenant = await world();
	const created = await make(tenant, body);
	const path = `/${DESTINATIONS}/${created.id}`;
	return {
		...tenant,
		created,
		path,
		plugin: Number(created.id),
		tenant,
		read: async () => (await tenant.here("GET", path)).body,
		source: async () => (await tenant.here("GET", `${path}/source`)).body,
		patch: (body: object) => tenant.here("PATCH", path, { body }),
		write: (body: object, bindings: Partial<Env> = {}) =>
			tenant.here("PATCH", `${path}/update_source`, { body, env: bindings }),
	};
}

const insertPlugin = (
	{ organization_id }: { organization_id: number },
	row: Partial<typeof plugins.$inferInsert> = {},
) =>
	db.insert(plugins).values({ organization_id, plugin_type: "custom", capabilities: {}, ...row });

const insertConfig = ({ id, project }: Home, plugin_id: number, order = 1) =>
	db
		.insert(pluginConfigs)
		.values({ project_id: project, organization_id: organizationId(id), plugin_id, order });

const makeConfig = async ({ ask, project }: Home, plugin: number, body: object = {}) =>
	(
		await ask("POST", `/api/projects/${project}/plugin_configs`, {
			body: { plugin, order: 1, ...body },
		})
	).body;

const access = (id: string, plugins_access_level: number) =>
	db.update(organizations).set({ plugins_access_level }).where(eq(organizations.uuid, id));

const setPlugin = (id: number, change: Partial<typeof plugins.$inferInsert>) =>
	db.update(plugins).set(change).where(eq(plugins.id, id));

const namesOf = ({ body }: { body: { results: { name: string }[] } }) =>
	body.results.map(({ name }) => name);

test("a plugin is created from the body and can be retrieved", async () => {
	const fields = {
		plugin_type: "local",
		name: "Exporter",
		description: "Sends things.",
		icon: "icon.png",
		config_schema: [{ key: "url", type: "string", required: true }],
		tag: "1.0",
		is_global: false,
		capabilities: { methods: ["onEvent", "setupPlugin"], jobs: ["retry"] },
		metrics: { sent: "sum" },
		public_jobs: { retry: {} },
	};
	const { id, created, read, here } = await home(fields);
	expect(created).toEqual({
		id: expect.any(Number),
		url: null,
		latest_tag: null,
		organization_id: id,
		organization_name: "Acme",
		x_function_migration_available: "false",
		...fields,
	});
	expect(await read()).toEqual(created);
	const { body } = await here("GET", `/${DESTINATIONS}/`);
	expect(body).toMatchObject({ count: 1, results: [created] });
});

const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
const DEEP = "Ensure this value is nested at most 100 levels deep.";
const DICTIONARY = "Expected a dictionary of items.";
const PROTO = 'The name "__proto__" is not allowed.';

test.each<[body: object | string, code: string, detail: string, attr: string]>([
	[{ plugin_type: "other" }, "invalid_choice", '"other" is not a valid choice.', "plugin_type"],
	[
		{ name: "x".repeat(201) },
		"max_length",
		"Ensure this field has no more than 200 characters.",
		"name",
	],
	[
		{ config_schema: "x" },
		"invalid_input",
		"Expected a list or a dictionary of items.",
		"config_schema",
	],
	[{ capabilities: [] }, "invalid_input", DICTIONARY, "capabilities"],
	[
		{ capabilities: { methods: "x" } },
		"not_a_list",
		'Expected a list of items but got type "str".',
		"capabilities__methods",
	],
	[{ metrics: { sent: "avg" } }, "invalid_choice", '"avg" is not a valid choice.', "metrics__sent"],
	[{ public_jobs: "x" }, "invalid_input", DICTIONARY, "public_jobs"],
	[{ is_global: "maybe" }, "invalid_input", "Must be a valid boolean.", "is_global"],
	[
		{ url: "x".repeat(801) },
		"max_length",
		"Ensure this field has no more than 800 characters.",
		"url",
	],
	[{ config_schema: nested(101) }, "invalid_input", DEEP, "config_schema"],
	[
		{ config_schema: { key: [{ "\ud800": 1 }] } },
		"invalid_input",
		"Lone surrogates are not allowed.",
		"config_schema",
	],
	[{ public_jobs: { send: nested(2000) } }, "invalid_input", DEEP, "public_jobs__send"],
	[
		{ public_jobs: { send: "\0" } },
		"invalid_input",
		"Null characters are not allowed.",
		"public_jobs__send",
	],
	['{"config_schema": {"__proto__": 1}}', "invalid_input", PROTO, "config_schema____proto__"],
	['{"metrics": {"__proto__": "sum"}}', "invalid_input", PROTO, "metrics____proto__"],
	['{"public_jobs": {"__proto__": {}}}', "invalid_input", PROTO, "public_jobs____proto__"],
])("an invalid body is rejected (%#)", async (body, code, detail, attr) => {
	const { here } = await world();
	const raw = typeof body === "string" ? body : JSON.stringify(body);
	const headers = { "content-type": "application/json" };
	const response = await here("POST", `/${DESTINATIONS}`, { raw, headers });
	expect(response).toMatchObject(wrong(code, detail, attr));
});

test("a schema and public jobs of 100 levels can be read wherever they appear", async () => {
	const fields = { config_schema: nested(100), public_jobs: { send: nested(100) } };
	const { here, path } = await home(fields);
	const { headers } = await here("GET", path);
	const change = { body: { name: "Deep" }, headers: { "if-match": headers.get("etag") ?? "" } };
	expect(await here("PATCH", path, change)).toMatchObject({ status: 200, body: fields });
	for (const at of [path, `/${DESTINATIONS}`, "/activity_log", "/events"])
		expect((await here("GET", at)).status).toBe(200);
});

test("a plugin is listed in the families of its capabilities, and found by id through all three", async () => {
	const tenant = await world();
	const both = { methods: ["composeWebhook"], scheduled_tasks: ["runEveryHour"] };
	const cases: [name: string, capabilities: object, families: string[]][] = [
		["event", { methods: ["onEvent"] }, [DESTINATIONS]],
		["export", { methods: ["exportEvents", "processEvent"] }, [DESTINATIONS]],
		["both", both, [DESTINATIONS, IMPORTS]],
		["process", { methods: ["processEvent"] }, []],
		["setup", { methods: ["setupPlugin"] }, [IMPORTS]],
		["no method", { methods: [] }, [IMPORTS]],
		["task", { scheduled_tasks: ["runEveryMinute"] }, [IMPORTS]],
		["no task", { scheduled_tasks: [] }, []],
		["job", { jobs: ["a"] }, [FRONTEND]],
		["nothing", {}, [FRONTEND]],
	];
	const expected = new Map(cases.map(([name, , families]) => [name, families]));
	for (const [name, capabilities] of cases) {
		const { id } = await make(tenant, { name, capabilities });
		for (const family of FAMILIES)
			expect((await tenant.here("GET", `/${family}/${id}`)).body).toMatchObject({ capabilities });
	}
	// Without capabilities, a plugin gets those of the family that creates it.
	for (const family of FAMILIES) {
		await make(tenant, { name: family }, family);
		expected.set(family, [family]);
	}
	for (const family of FAMILIES)
		expect(namesOf(await tenant.here("GET", `/${family}`)).sort()).toEqual(
			[...expected].flatMap(([name, families]) => (families.includes(family) ? [name] : [])).sort(),
		);
	const { results } = (await tenant.here("GET", "/plugins")).body;
	expect(
		new Map(results.map((one: { name: string; families: string[] }) => [one.name, one.families])),
	).toEqual(expected);
});

describe("the list of all plugins", () => {
	test("contains the plugins visible to the organization, newest first, with the families of each", async () => {
		const [tenant, other] = [await world(), await world()];
		await make(tenant, { name: "old" });
		await make(other, { name: "hidden" });
		const used = await make(other, { name: "used" });
		const shared = await make(other, { name: "shared", is_global: true });
		await make(tenant, { name: "new" }, IMPORTS);
		// The plugin isn't visible to this organization yet.
		expect(await makeConfig(tenant, used.id)).toMatchObject({ code: "does_not_exist" });
		for (const order of [1, 2]) await insertConfig(tenant, used.id, order);
		const answer = await tenant.here("GET", "/plugins/");
		expect(namesOf(answer)).toEqual(["new", "shared", "used", "old"]);
		expect(answer.body.count).toBe(4);
		await setPlugin(shared.id, { is_global: false });
		await db
			.update(pluginConfigs)
			.set({ deleted: true })
			.where(eq(pluginConfigs.plugin_id, used.id));
		expect(namesOf(await tenant.here("GET", "/plugins/"))).toEqual(["new", "old"]);
	});

	test("can be searched in name, description and url, and filtered by family", async () => {
		const tenant = await world();
		await make(tenant, { name: "Alpha" }, FRONTEND);
		await make(tenant, { name: "B", description: "Next to alpha." }, IMPORTS);
		await make(tenant, { name: "Überblick" });
		await insertPlugin(tenant, {
			name: "D",
			url: "https://github.com/u/ALPHA",
			capabilities: { methods: ["processEvent"] },
		});
		const ask = (query: string) => tenant.here("GET", `/plugins?${query}`);
		const all = FAMILIES.map((family) => `family=${family}`).join("&");
		for (const [query, names] of [
			["search=aLPha", ["D", "B", "Alpha"]],
			["search=%25", []],
			["search=ÜBERBLICK", ["Überblick"]],
			[`family=${FRONTEND}`, ["Alpha"]],
			[`family=${IMPORTS}&family=Pipeline_Destinations`, ["Überblick", "B"]],
			[all, ["Überblick", "B", "Alpha"]],
			[`search=alpha&family=${IMPORTS}`, ["B"]],
		] as const)
			expect(namesOf(await ask(query))).toEqual(names);
		expect(await ask("family=other")).toMatchObject({ body: { code: "invalid_choice" } });
	});
});

test("retrieving a plugin costs the same however many there are", async () => {
	const { here, path, tenant } = await home();
	const readCost = async () => cost(await here("GET", path)).read;
	const before = await readCost();
	await times(50, () => insertPlugin(tenant));
	expect(await readCost()).toBe(before);
});

test("a plugin of no family can be installed, read, edited and deleted", async () => {
	const { created, here } = await home({ url: "https://www.npmjs.com/package/enriching" });
	expect(created.capabilities).toEqual({ methods: ["processEvent"] });
	for (const family of FAMILIES) expect((await here("GET", `/${family}`)).body.count).toBe(0);
	const path = `/${FRONTEND}/${created.id}`;
	expect((await here("GET", path)).body).toEqual(created);
	expect((await here("PATCH", path, { body: { name: "Own" } })).body.name).toBe("Own");
	expect((await here("POST", `${path}/upgrade`)).status).toBe(200);
	expect((await here("DELETE", path)).status).toBe(204);
	expect((await here("GET", "/plugins")).body.count).toBe(0);
});

test("a plugin keeps its path when its source moves it to another family", async () => {
	const tenant = await world();
	const { here } = tenant;
	const path = `/${FRONTEND}/${(await make(tenant, { name: "Greeter" }, FRONTEND)).id}`;
	const files = { "index.js": "exports.runEveryHour = () => {}; exports.jobs = { greet() {} };" };
	const written = await here("PATCH", `${path}/update_source/`, { body: files });
	expect(written.body.capabilities).toEqual({
		scheduled_tasks: ["runEveryHour"],
		jobs: ["greet"],
	});
	expect((await here("GET", `/${FRONTEND}`)).body.count).toBe(0);
	expect((await here("GET", path)).body.name).toBe("Greeter");
	expect((await here("GET", `${path}/source`)).body.files).toEqual(files);
	expect((await here("PATCH", path, { body: { name: "Own" } })).body.name).toBe("Own");
});

describe("access", () => {
	test("reading needs level 3, writing 6, global plugins 9", async () => {
		const { id, plugin, here, path, patch } = await home();
		const low = forbidden("Your organization's plugin access level is insufficient.");
		const local = forbidden("This organization can't manage global plugins!");
		const create = (is_global: boolean) =>
			here("POST", `/${DESTINATIONS}`, { body: { is_global } });
		await access(id, 2);
		expect(await here("GET", `/${DESTINATIONS}`)).toMatchObject(low);
		await access(id, 3);
		expect((await here("GET", path)).status).toBe(200);
		expect(await patch({ name: 7 })).toMatchObject(low);
		await access(id, 6);
		expect((await create(false)).status).toBe(201);
		expect(await create(true)).toMatchObject(local);
		expect(await patch({ is_global: false })).toMatchObject(local);
		expect((await patch({ name: "x" })).body.name).toBe("x");
		await access(id, 9);
		expect((await patch({ is_global: true })).body.is_global).toBe(true);
		await setPlugin(plugin, { is_global: false });
	});

	test("another organization sees global plugins and those that its projects have configs of, but changes neither", async () => {
		const [owner, user] = [await world(), await world()];
		const shared = await make(owner, { is_global: true });
		const used = await make(owner);
		const hidden = await make(owner);
		await insertConfig(user, used.id);
		const { results } = (await user.here("GET", `/${DESTINATIONS}`)).body;
		const ids = results.map(({ id }: { id: number }) => id);
		expect(ids).toEqual(expect.arrayContaining([used.id, shared.id]));
		expect(ids).not.toContain(hidden.id);
		expect((await user.here("GET", `/${DESTINATIONS}/${hidden.id}`)).status).toBe(404);
		const OTHERS = "This plugin installation is managed by another organization";
		for (const { id } of [shared, used])
			for (const [method, below, body] of [
				["PATCH", "", { name: 7 }],
				["DELETE", ""],
				["PATCH", "/update_source", {}],
				["POST", "/upgrade"],
			] as const)
				expect(
					await user.here(method, `/${DESTINATIONS}/${id}${below}`, body ? { body } : {}),
				).toMatchObject(forbidden(OTHERS));
		await db
			.update(pluginConfigs)
			.set({ deleted: true })
			.where(eq(pluginConfigs.plugin_id, used.id));
		expect((await user.here("GET", `/${DESTINATIONS}/${used.id}`)).status).toBe(404);
		await setPlugin(shared.id, { is_global: false });
	});

	test("a global plugin must be made local before it is deleted; its source and configs are deleted with it", async () => {
		const { tenant, plugin, here, path, patch, write } = await home({ is_global: true });
		await write({ "index.js": "export function onEvent() {}" });
		await makeConfig(tenant, plugin);
		const rejected = "This plugin is marked as global! Make it local before uninstallation";
		expect(await here("DELETE", path)).toMatchObject(wrong("invalid_input", rejected, null));
		await patch({ is_global: false });
		expect((await here("DELETE", path)).status).toBe(204);
		expect((await here("GET", path)).status).toBe(404);
		expect(
			await db.select().from(pluginSourceFiles).where(eq(pluginSourceFiles.plugin_id, plugin)),
		).toEqual([]);
		const configs = `/api/projects/${tenant.project}/plugin_configs`;
		expect((await tenant.ask("GET", configs)).body.count).toBe(0);
	});
});

describe("a plugin that another organization has a config of", () => {
	const USED = wrong("invalid_input", "This plugin is used by other organizations.", null);

	test("can’t be deleted until that config is deleted", async () => {
		const { here, path, plugin, tenant } = await home();
		for (const one of [await world(), tenant]) await insertConfig(one, plugin);
		expect(await here("DELETE", path)).toMatchObject(USED);
		await db
			.update(pluginConfigs)
			.set({ deleted: true })
			.where(eq(pluginConfigs.plugin_id, plugin));
		expect((await here("DELETE", path)).status).toBe(204);
	});

	test("is not deleted if the config is created while the request is in progress", async () => {
		const [{ here, path, plugin }, other] = [await home(), await world()];
		const between = async () => insertConfig(other, plugin);
		expect(await here("DELETE", path, { env: racing(between) })).toMatchObject(USED);
		expect((await here("GET", path)).status).toBe(200);
		expect((await here("GET", "/activity_log?activity=deleted")).body.count).toBe(0);
	});
});

test("a plugin is deleted by exactly one of five concurrent requests", async () => {
	const { here, path } = await home();
	const answers = await Promise.all(Array.from({ length: 5 }, () => here("DELETE", path)));
	expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404]);
	expect((await here("GET", "/activity_log?activity=deleted")).body.count).toBe(1);
});

describe("code that runs with stored secrets", () => {
	const INSUF = forbidden("Your organization access level is insufficient.");
	const RACE = forbidden("Your access changed during the request.");

	/** A plugin with a config, its owner, a member of level 1 and an admin. */
	async function shared() {
		const one = await home({ config_schema: [{ key: "token", type: "string", secret: true }] });
		const { tenant, plugin, path } = one;
		const config = (await makeConfig(tenant, plugin)).id;
		const at = `/api/projects/${tenant.project}/plugin_configs/${config}`;
		const keepSecret = () => tenant.ask("PATCH", at, { body: { config: { token: "hunter22" } } });
		const [member, admin] = [await join(tenant.id, 1), await join(tenant.id, 8)];
		const as = (
			{ key }: { key: string },
			[method, below, body]: readonly [string, string, object],
			env: Partial<Env> = {},
		) => tenant.here(method, `${path}${below}`, { key, body, env });
		return { ...one, config, keepSecret, member, admin, as };
	}

	/** Requests that change the plugin's code, some of them with an invalid body. */
	const changes = (name = "steal") =>
		[
			["PATCH", "/update_source", { "index.js": `exports.${name} = 1` }],
			["PATCH", "/update_source", { "index.js": 7 }],
			["POST", "/upgrade", {}],
			["POST", "/upgrade", { name: 7 }],
			["PATCH", "", { capabilities: { jobs: [name] } }],
			["PATCH", "", { public_jobs: { [name]: {} } }],
		] as const;

	/** Stores a secret that the plugin's code could read. */
	const storeSecret = (plugin_config_id: number) =>
		db.insert(pluginStorage).values({ plugin_config_id, key: "token", bytes: 1, value: "sealed" });

	test("can be changed by members until a secret is stored, and only by admins after that", async () => {
		const { source, keepSecret, member, admin, as } = await shared();
		for (const change of changes("first"))
			expect([200, 400]).toContain((await as(member, change)).status);
		await keepSecret();
		const before = await source();
		expect(before).toMatchObject({
			files: { "index.js": "exports.first = 1" },
			capabilities: { jobs: ["first"] },
			public_jobs: { first: {} },
		});
		for (const change of changes()) expect(await as(member, change)).toMatchObject(INSUF);
		expect(await source()).toEqual(before);
		// Members may still make changes that don't affect the code.
		const { capabilities, public_jobs } = before;
		const rename = { name: "Renamed", capabilities, public_jobs };
		expect((await as(member, ["PATCH", "", rename])).body.name).toBe("Renamed");
		for (const change of changes()) expect([200, 400]).toContain((await as(admin, change)).status);
	});

	test("includes secrets in the plugin’s storage", async () => {
		const { config, member, as } = await shared();
		await storeSecret(config);
		for (const change of changes()) expect(await as(member, change)).toMatchObject(INSUF);
	});

	test("includes secrets of other organizations and of deleted configs", async () => {
		const { plugin, member, as } = await shared();
		await setPlugin(plugin, { is_global: true });
		const other = await world();
		const { id } = await makeConfig(other, plugin, { config: { token: "hunter22" } });
		const path = `/api/projects/${other.project}/plugin_configs/${id}`;
		await other.ask("PATCH", path, { body: { deleted: true } });
		await setPlugin(plugin, { is_global: false });
		for (const change of changes()) expect(await as(member, change)).toMatchObject(INSUF);
	});

	test("is not changed if a secret is stored while the request is in progress", async () => {
		const { source, keepSecret, member, as } = await shared();
		const before = await source();
		const [written, , , , ...patches] = changes();
		for (const change of [written, ...patches]) {
			expect(await as(member, change, racing(keepSecret))).toMatchObject(RACE);
			await db.update(pluginConfigs).set({ config: {} });
		}
		expect(await source()).toEqual(before);
	});

	test("is not upgraded if a secret is stored while the request is in progress", async () => {
		const { tenant, plugin, id, path, here } = await home({
			url: "https://www.npmjs.com/package/hello",
		});
		const { key } = await join(id, 1);
		const config = await makeConfig(tenant, plugin);
		const bindings = racing(async () => storeSecret(config.id));
		expect(await here("POST", `${path}/upgrade`, { key, env: bindings })).toMatchObject(RACE);
	});
});

describe("source", () => {
	test.each(["__proto__", " __proto__ "])("named %j is rejected", async (name) => {
		const { write, source } = await home();
		for (const text of ["x", null]) {
			const files = Object.fromEntries([
				[name, text],
				["index.js", ""],
			]);
			expect(await write(files)).toMatchObject(wrong("invalid_input", PROTO, name));
		}
		expect((await source()).files).toEqual({});
	});

	test("named like a method of Object.prototype is stored like any other", async () => {
		const { write, source, here } = await home();
		const files = { constructor: "a", toString: "b", hasOwnProperty: "c" };
		// Deleting files that don't exist changes nothing.
		await write({ constructor: null, valueOf: null });
		expect((await write(files)).body.files).toEqual(files);
		await write({ constructor: "d", toString: null });
		expect((await source()).files).toEqual({ constructor: "d", hasOwnProperty: "c" });
		const { results } = (await here("GET", "/activity_log?activity=source_updated")).body;
		expect(
			results.map(({ detail }: { detail: { changes: object[] } }) => detail.changes),
		).toMatchObject([
			[
				{ field: "constructor", action: "changed" },
				{ field: "toString", action: "deleted" },
			],
			[{ action: "created" }, { action: "created" }, { action: "created" }],
		]);
	});

	test("is stored, read back, compiled for browsers, and determines the capabilities", async () => {
		const { plugin, write, source } = await home();
		const files = {
			"index.ts":
				"export async function onEvent(event: object) {}\nexport function runEveryHour() {}\nexport const jobs = { retry() {} }",
			"frontend.tsx": "export const scene = <p>Hello</p>",
			"site.ts": "export const x: number = (",
			"plugin.json": '{"name": "Written", "config": [{"key": "k", "type": "string"}]}',
		};
		const { status, body } = await write(files);
		expect({ status, body }).toMatchObject({
			status: 200,
			body: {
				id: plugin,
				name: "Written",
				config_schema: [{ key: "k", type: "string" }],
				capabilities: {
					methods: ["onEvent"],
					scheduled_tasks: ["runEveryHour"],
					jobs: ["retry"],
				},
			},
		});
		expect(body.files).toEqual(files);
		expect(body.errors).toEqual({ "site.ts": expect.stringMatching(/\(1:27\)$/) });
		expect(await source()).toEqual(body);
		const rows = await db
			.select()
			.from(pluginSourceFiles)
			.where(eq(pluginSourceFiles.plugin_id, plugin));
		const of = (name: string) => rows.find(({ filename }) => filename === name);
		expect(of("frontend.tsx")).toMatchObject({
			compiled: expect.stringContaining("React.createElement"),
			error: null,
		});
		expect(of("site.ts")).toMatchObject({ compiled: null, error: expect.stringMatching(/\d/) });
		const after = await write({ "site.ts": null, "index.ts": "export function processEvent() {}" });
		expect(Object.keys(after.body.files).sort()).toEqual([
			"frontend.tsx",
			"index.ts",
			"plugin.json",
		]);
		const capabilities = { methods: ["processEvent"] };
		expect(after.body).toMatchObject({ capabilities, errors: {} });
		// What can't be parsed leaves the capabilities as they are.
		const broken = await write({ "index.ts": "const = 5" });
		expect(Object.keys(broken.body.errors)).toEqual(["index.ts"]);
		expect(broken.body.capabilities).toEqual(capabilities);
	});

	test.each<[files: object, attr: string | null]>([
		[{ "plugin.json": "{" }, "plugin.json"],
		[{ "plugin.json": "[]" }, "plugin.json"],
		[{ "plugin.json": '{"name": 7}' }, "plugin.json"],
		[{ "plugin.json": JSON.stringify({ config: nested(101) }) }, "plugin.json"],
		[{ "index.js": 7 }, "index.js"],
		[Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`${i}.js`, ""])), null],
	])("%j is rejected", async (files, attr) => {
		const { write, source } = await home();
		expect(await write(files)).toMatchObject({ status: 400, body: { attr } });
		expect((await source()).files).toEqual({});
	});

	test("of nearly 1 MiB stays below D1’s limits for a value and for a row", async () => {
		const D1_MAX_BYTES = 2_000_000;
		const { plugin, path, here, write } = await home();
		const its = eq(pluginSourceFiles.plugin_id, plugin);
		const file = (length: number) => `export const text = "${"x".repeat(length)}";`;
		const { env: weighed, heaviest } = weighing();
		const stored = async (text: string) => {
			const files = { "site.ts": text };
			expect(await write(files, weighed)).toMatchObject({ status: 200, body: { files } });
			const [row] = await db.select().from(pluginSourceFiles).where(its);
			expect(JSON.stringify(row).length).toBeLessThan(D1_MAX_BYTES);
			return row;
		};
		expect(await stored(file(1_048_000))).toMatchObject({
			compiled: null,
			error: "The file is too large to compile.",
		});
		expect((await stored(file(900_000)))?.compiled).toContain("xxx");
		// A newline takes two bytes in JSON. Archives can contain such files, too.
		const lines = "\n".repeat(1_048_576);
		await db.update(pluginSourceFiles).set({ source: lines, compiled: null }).where(its);
		const { body } = await here("GET", `${path}/source`, { env: weighed });
		expect(body.files).toEqual({ "site.ts": lines });
		expect(heaviest()).toBeLessThan(D1_MAX_BYTES);
	});

	test("of more than 1 MiB, or of a plugin that isn’t of type source, is rejected", async () => {
		const { write } = await home();
		const half = "x".repeat(600_000);
		expect((await write({ a: half })).status).toBe(200);
		expect((await write({ b: half })).body.detail).toBe(
			"The source of a plugin can be at most 1 MiB.",
		);
		const local = await home({ plugin_type: "local" });
		expect((await local.write({})).body.detail).toBe("Only plugins of type source can be edited.");
	});
});

describe("installing from a url", () => {
	const url = "https://www.npmjs.com/package/hello";
	const taken = (of: string) =>
		wrong("invalid_input", `Plugin from URL "${of}" already installed!`, null);
	const install = ({ here }: Home, url: string, env: Partial<Env> = {}) =>
		here("POST", `/${IMPORTS}`, { body: { url }, env });

	test("uses the package’s manifest; the plugin can be checked for updates and upgraded", async () => {
		const { created, path, here, source } = await home({ url: `${url}/v/1.0.0`, name: "ignored" });
		expect(created).toMatchObject({
			plugin_type: "custom",
			name: "1.0.0.tgz",
			url: `${url}/v/1.0.0`,
			tag: "1.0.0",
			latest_tag: "1.1.0",
		});
		const check = await here("GET", `${path}/check_for_updates/`);
		expect(check.body).toMatchObject({ latest_tag: "1.1.0", update_available: true });
		expect(cost(check)).toMatchObject({ trips: 1, written: 0 });
		expect(Object.keys((await source()).files)).toContain("plugin.json");
		const again = await here("POST", `${path}/upgrade/`);
		expect(again).toMatchObject({ status: 200, body: { id: created.id, tag: "1.0.0" } });
		expect((await here("GET", "/activity_log?scope=Plugin")).body.results).toMatchObject([
			{ activity: "upgraded" },
			{ activity: "created" },
		]);
	});

	test("check_for_updates stores the newest tag of one's own plugin; for another organization's it returns the stored tag and makes no request", async () => {
		const [{ here, path, plugin, read }, other] = [await home({ url }), await world()];
		const check = async (one: Home["here"], env: Partial<Env> = {}) =>
			(await one("GET", `${path}/check_for_updates`, { env })).body;
		await setPlugin(plugin, { latest_tag: "1.0.5", is_global: true });
		expect(await check(other.here, { NPM_REGISTRY_URL: "" })).toMatchObject({
			latest_tag: "1.0.5",
			update_available: true,
		});
		await setPlugin(plugin, { latest_tag: null });
		const unknown = { latest_tag: null, update_available: false };
		expect(await check(other.here)).toMatchObject(unknown);
		await setPlugin(plugin, { latest_tag: "1.0.5", is_global: false });
		expect(await check(here)).toMatchObject({ latest_tag: "1.1.0", update_available: false });
		await eventually(async () => expect((await read()).latest_tag).toBe("1.1.0"));
	});

	test.each([
		[url, url, `${url}?x=1`],
		[
			"http://www.GitHub.com/u/hello.git/",
			"https://github.com/u/hello",
			"https://github.com/u/hello/?x",
		],
	])("is possible once per organization, however %s is written", async (first, address, again) => {
		const { created, ask, tenant } = await home({ url: first });
		expect(created.url).toBe(address);
		const rejected = await install(tenant, again);
		expect(rejected).toMatchObject(taken(address));
		const [, link = ""] =
			/^<(.+)>; rel="item", <\/docs\/.+>; rel="help"$/.exec(rejected.headers.get("link") ?? "") ??
			[];
		expect((await ask("GET", link)).body).toEqual(created);
		expect((await install(await world(), again)).status).toBe(201);
	});

	test("by five concurrent requests installs the plugin once", async () => {
		const tenant = await world();
		const answers = await Promise.all(Array.from({ length: 5 }, () => install(tenant, url)));
		const rejected = answers.filter(({ status }) => status !== 201);
		expect(rejected).toHaveLength(4);
		for (const answer of rejected) {
			expect(answer).toMatchObject(taken(url));
			expect(answer.headers.get("link")).toMatch(/\/\d+\/>; rel="item", /);
		}
		expect((await tenant.here("GET", "/plugins")).body.count).toBe(1);
	});

	test("is rejected with a reason", async () => {
		const tenant = await world();
		const page = "https://www.npmjs.com/package";
		for (const [bad, detail] of [
			["https://example.com/x", "Must be a GitHub/GitLab repository or a npm package URL!"],
			[`${page}/absent`, "Could not find npm package absent."],
			[`${page}/long-version`, "Could not read the metadata of npm package long-version."],
			[`${page}/large-manifest`, "The source of a plugin can be at most 1 MiB."],
		] as const)
			expect(await install(tenant, bad)).toMatchObject(wrong("invalid_input", detail, null));
		expect((await install(tenant, url, { NPM_REGISTRY_URL: "" })).body.detail).toBe(
			"Installing from npm is not configured.",
		);
	});

	test("uses a private token, stores it sealed and never returns it", async () => {
		const { created, here } = await home({
			url: `https://github.com/u/private?private_token=${TOKEN}`,
		});
		expect(created.url).toBe("https://github.com/u/private");
		const [row] = await db.select().from(plugins).where(eq(plugins.id, created.id));
		const visible = [created, (await here("GET", "/activity_log")).body, row];
		expect(JSON.stringify(visible)).not.toContain(TOKEN);
		expect(row?.private_token).toMatch(/^sealed:/);
	});

	describe("upgrading to the url of another version", () => {
		/** A plugin of an old version, and a function that moves it to the version of a URL. */
		const installed = async (from = `${url}/v/1.0.0`) => {
			const one = await home({ url: from });
			const move = (url: string) => one.here("POST", `${one.path}/upgrade`, { body: { url } });
			return { ...one, move };
		};

		test("installs that version, which the plugin then has, and is in the log", async () => {
			const { created, move, here } = await installed();
			const moved = await move(`${url}/v/1.1.0/?activeTab=code`);
			expect(moved).toMatchObject({
				status: 200,
				body: { id: created.id, tag: "1.1.0", url: `${url}/v/1.1.0` },
			});
			expect(cost(moved).trips).toBe(2);
			expect((await here("GET", "/activity_log?scope=Plugin")).body.results[0]).toMatchObject({
				activity: "upgraded",
				detail: {
					changes: [
						{ field: "tag", before: "1.0.0", after: "1.1.0" },
						{ field: "url", before: `${url}/v/1.0.0`, after: `${url}/v/1.1.0` },
					],
				},
			});
			expect((await move(`${url}/v/1.0.0`)).body.tag).toBe("1.0.0");
			expect((await move(url)).body).toMatchObject({ tag: "1.1.0", url });
		});

		test("is rejected for another package, for source written in place, and for a missing version", async () => {
			const { created, move, read, tenant, here } = await installed();
			const other = "https://www.npmjs.com/package/@scope/hello";
			for (const wanted of [other, "https://github.com/u/hello", "https://example.com", ""])
				expect(await move(wanted)).toMatchObject(
					wrong("invalid_input", `Must be a version of ${url}.`, "url"),
				);
			const written = `/${DESTINATIONS}/${(await make(tenant)).id}/upgrade`;
			expect(await here("POST", written, { body: { url } })).toMatchObject(
				wrong("invalid_input", "This plugin was not installed from a URL.", "url"),
			);
			expect(await move(`${url}/v/9.9.9`)).toMatchObject(
				wrong("invalid_input", "Could not find version 9.9.9 of npm package hello.", null),
			);
			expect(await read()).toEqual(created);
		});

		test("is rejected while another plugin is installed from it", async () => {
			const { created, move, read, tenant } = await installed();
			await make(tenant, { url });
			const rejected = await move(url);
			expect(rejected).toMatchObject(taken(url));
			expect(rejected.headers.get("link")).toContain('rel="item"');
			expect(await read()).toEqual(created);
		});

		test("keeps the token of a private repository, or replaces it", async () => {
			const page = "https://github.com/u/private";
			const { path, here, move } = await installed(`${page}?private_token=${TOKEN}`);
			const to = `${page}/tree/v1/x`;
			expect((await move(to)).body).toMatchObject({ url: to, tag: RELEASE });
			expect((await here("POST", `${path}/upgrade`)).body.tag).toBe(RELEASE);
			expect((await move(`${page}?private_token=wrong`)).status).toBe(400);
			expect((await move(`${page}?private_token=${TOKEN}`)).body.tag).toBe(HEAD);
		});

		test("stores the URL of the installed version, whichever of two concurrent requests is last", async () => {
			const { move, here, path, read } = await installed();
			await Promise.all([move(`${url}/v/1.1.0`), here("POST", `${path}/upgrade`)]);
			const now = await read();
			expect(now.url).toBe(`${url}/v/${now.tag}`);
		});
	});

	test("upgrade and check_for_updates change nothing for a plugin without a url", async () => {
		const { created, here, path } = await home();
		expect((await here("POST", `${path}/upgrade`)).body).toEqual(created);
		expect((await here("GET", `${path}/check_for_updates`)).body).toEqual({
			...created,
			update_available: false,
		});
	});
});

describe("a list that also has a plugin’s fields", () => {
	const list = async (
		{ here }: Pick<Home, "here">,
		path: string,
		options?: Parameters<Home["here"]>[2],
	) => (await here("GET", `/${DESTINATIONS}/${path}`, options)).body;

	test("has null in all of them if the list is empty", async () => {
		const tenant = await world();
		for (const path of ["activity", "unused", "exports_unsubscribe_configs"]) {
			const { count, next, previous, results, ...plugin } = await list(tenant, `${path}/`);
			expect([count, next, previous, results]).toEqual([0, null, null, []]);
			expect(Object.keys(plugin)).toHaveLength(16);
			expect(new Set(Object.values(plugin))).toEqual(new Set([null]));
		}
	});

	test("has those of its first entry’s plugin", async () => {
		const { tenant, here, created: first, patch } = await home({ name: "one" });
		const second = await make(tenant, { name: "two" });
		await patch({ name: "One" });
		expect(await list(tenant, "activity")).toMatchObject({
			id: first.id,
			name: "One",
			count: 3,
			results: [{ activity: "updated", item_id: String(first.id) }, {}, {}],
		});
		expect(await list(tenant, "unused")).toMatchObject({ id: second.id, count: 2 });
		const config = await makeConfig(tenant, second.id, { enabled: true });
		expect(await list(tenant, "unused")).toMatchObject({ id: first.id, count: 1 });
		expect(await list(tenant, "exports_unsubscribe_configs")).toMatchObject({
			id: second.id,
			count: 1,
			results: [{ id: config.id, plugin: second.id }],
		});
		expect((await here("GET", `/${FRONTEND}/activity`)).body.count).toBe(0);
	});

	test("lists the activity by person, action and time", async () => {
		const { tenant, here, path, id } = await home({ name: "one" });
		await make(tenant, { name: "two" });
		const admin = await join(id, 8);
		await here("PATCH", path, { key: admin.key, body: { name: "One" } });
		const all = await list(tenant, "activity");
		const [newest, middle] = all.results;
		const asked = async (query: string) => {
			const { count, results } = await list(tenant, `activity?${query}`);
			expect(count).toBe(results.length);
			return results;
		};
		expect(await asked(`user=${newest.user.uuid}`)).toEqual([newest]);
		expect(await asked("activity=created")).toEqual(all.results.slice(1));
		expect(await asked(`user=${newest.user.uuid}&activity=created`)).toEqual([]);
		expect(await asked(`before=${newest.created_at}&after=2001-01-01`)).toEqual(
			all.results.filter((entry: typeof newest) => entry.created_at < newest.created_at),
		);
		expect(await asked(`after=${middle.created_at}&activity=created`)).toEqual([]);
		expect((await here("GET", `/${FRONTEND}/activity?activity=created`)).body.count).toBe(0);
		expect(await list(tenant, "activity?user=x")).toMatchObject({ attr: "user" });
	});

	test("omits configs of projects that the caller doesn’t see", async () => {
		const { tenant, plugin, ask, id, project } = await home();
		await makeConfig(tenant, plugin, { enabled: true });
		await ask("PATCH", `/api/projects/${project}`, { body: { access_control: true } });
		const { key } = await join(id, 1);
		expect((await list(tenant, "exports_unsubscribe_configs", { key })).count).toBe(0);
	});
});

describe("the repository", () => {
	const page = ({ here }: Home, query: string, env: Partial<Env> = {}) =>
		here("GET", `/${IMPORTS}/repository${query}`, { env });

	test("has pages and shows which plugins are installed", async () => {
		const tenant = await world();
		const { body } = await page(tenant, "?limit=2&offset=1");
		expect(body.count).toBeGreaterThan(5);
		expect(body.results).toHaveLength(2);
		const [{ url }] = body.results;
		const entry = {
			name: expect.any(String),
			url: expect.stringMatching(/^https:\/\/github\.com\//),
			description: expect.any(String),
			verified: expect.any(Boolean),
			maintainer: expect.any(String),
			type: expect.any(String),
			icon: null,
			installed: false,
		};
		expect(body.results[0]).toEqual(entry);
		await insertPlugin(tenant, { url });
		const one = "?limit=1&offset=1";
		expect((await page(tenant, one)).body).toMatchObject({
			url,
			results: [{ url, installed: true }],
		});
		expect((await page(await world(), one)).body.results).toEqual([entry]);
	});

	test("reads only the plugins on its page", async () => {
		const tenant = await world();
		const { read } = cost(await page(tenant, "?limit=2"));
		await times(50, (i) => insertPlugin(tenant, { url: `https://github.com/u/${i}` }));
		const after = cost(await page(tenant, "?limit=2"));
		expect(after.trips).toBe(1);
		expect(after.read).toBeLessThanOrEqual(read + 3);
	});

	test("can be loaded from another host, and what is wrong with that is told to callers with access", async () => {
		const tenant = await world();
		const at = (PLUGIN_REPOSITORY_URL: string) => page(tenant, "", { PLUGIN_REPOSITORY_URL });
		const listAt = (name: string) => at(env.GITHUB_API_URL.replace("github", name));
		const custom = await listAt("lists/own");
		expect(cost(custom).trips).toBe(2);
		expect(custom.body).toMatchObject({
			count: 1,
			results: [{ name: "Own", icon: null, installed: false }],
		});
		expect(await listAt("lists/none")).toMatchObject(
			wrong("invalid_input", "The plugin repository did not return a list of plugins.", null),
		);
		for (const url of [env.DOH_NOBODY, "https://elsewhere.example.com/"])
			expect(await at(url)).toMatchObject(
				wrong("invalid_input", "Could not reach the plugin repository.", null),
			);
		const { key } = await world();
		const stranger = await call("GET", `/api/organizations/${tenant.id}/${IMPORTS}/repository`, {
			key,
			env: { PLUGIN_REPOSITORY_URL: env.DOH_NOBODY },
		});
		expect(stranger.status).toBe(403);
	});
});
