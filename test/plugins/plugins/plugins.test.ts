import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizationId } from "../../../src/db/organization_ids.ts";
import { pluginStorage } from "../../../src/db/schema/jobs.ts";
import { organizations } from "../../../src/db/schema/organizations.ts";
import { pluginConfigs } from "../../../src/db/schema/plugin_configs.ts";
import { pluginSourceFiles, plugins } from "../../../src/db/schema/plugins.ts";
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

const access = (id: string, plugins_access_level: number) =>
	db.update(organizations).set({ plugins_access_level }).where(eq(organizations.uuid, id));

test("a plugin is created from the body and can be retrieved", async () => {
	const home = await world();
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
	const created = await make(home, fields);
	expect(created).toEqual({
		id: expect.any(Number),
		url: null,
		latest_tag: null,
		organization_id: home.id,
		organization_name: "Acme",
		x_function_migration_available: "false",
		...fields,
	});
	expect((await home.here("GET", `/${DESTINATIONS}/${created.id}/`)).body).toEqual(created);
	expect((await home.here("GET", `/${DESTINATIONS}/`)).body).toMatchObject({
		count: 1,
		results: [created],
	});
});

test.each([
	["config_schema", null],
	["metrics", "sum"],
	["public_jobs", {}],
])("a key __proto__ in %s is rejected", async (field, value) => {
	const { here } = await world();
	const raw = `{"${field}": {"a": ${JSON.stringify(value)}, "__proto__": ${JSON.stringify(value)}}}`;
	expect(
		await here("POST", `/${DESTINATIONS}`, {
			raw,
			headers: { "content-type": "application/json" },
		}),
	).toMatchObject(
		wrong("invalid_input", 'The name "__proto__" is not allowed.', `${field}____proto__`),
	);
});

const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));

describe("JSON that can't be stored is rejected", () => {
	const tooDeep = "Ensure this value is nested at most 100 levels deep.";
	const lone = "Lone surrogates are not allowed.";

	test.each([
		[{ config_schema: nested(101) }, tooDeep, "config_schema"],
		[{ config_schema: { key: [{ "\ud800": 1 }] } }, lone, "config_schema"],
		[{ public_jobs: { send: nested(2000) } }, tooDeep, "public_jobs__send"],
		[{ public_jobs: { send: "\0" } }, "Null characters are not allowed.", "public_jobs__send"],
	])("%#", async (body, detail, attr) => {
		const { here } = await world();
		const rejection = wrong("invalid_input", detail, attr);
		expect(await here("POST", `/${DESTINATIONS}`, { body })).toMatchObject(rejection);
	});

	test("in plugin.json", async () => {
		const home = await world();
		const { id } = await make(home);
		const text = JSON.stringify({ config: nested(101) });
		const path = `/${DESTINATIONS}/${id}/update_source`;
		expect(await home.here("PATCH", path, { body: { "plugin.json": text } })).toMatchObject(
			wrong(
				"invalid_input",
				"Must be a JSON object. Its name must be a string, and its config a list or an object of at most 100 levels and 64 KiB, without numbers that a double would round.",
				"plugin.json",
			),
		);
	});
});

test("a schema and public jobs of 100 levels can be read wherever they appear", async () => {
	const home = await world();
	const fields = { config_schema: nested(100), public_jobs: { send: nested(100) } };
	const { id } = await make(home, fields);
	const before = await home.here("GET", `/${DESTINATIONS}/${id}`);
	const headers = { "if-match": before.headers.get("etag") ?? "" };
	expect(
		await home.here("PATCH", `/${DESTINATIONS}/${id}`, { body: { name: "Deep" }, headers }),
	).toMatchObject({ status: 200, body: fields });
	for (const path of [`/${DESTINATIONS}/${id}`, `/${DESTINATIONS}`, "/activity_log", "/events"])
		expect((await home.here("GET", path)).status).toBe(200);
});

test("a plugin created through a family without capabilities is listed in that family", async () => {
	const home = await world();
	for (const family of FAMILIES) {
		const { id } = await make(home, {}, family);
		expect(
			(await home.here("GET", `/${family}`)).body.results.map(
				(plugin: { id: number }) => plugin.id,
			),
		).toContain(id);
		expect((await home.here("GET", `/${family}/${id}`)).body).toMatchObject({
			plugin_type: "source",
			name: "",
			config_schema: [],
		});
	}
});

test.each([
	[{ methods: ["onEvent"] }, [true, false, false]],
	[{ methods: ["exportEvents", "processEvent"] }, [true, false, false]],
	[{ methods: ["composeWebhook"], scheduled_tasks: ["runEveryHour"] }, [true, false, true]],
	[{ methods: ["processEvent"] }, [false, false, false]],
	[{ methods: ["setupPlugin"] }, [false, false, true]],
	[{ methods: [] }, [false, false, true]],
	[{ scheduled_tasks: ["runEveryMinute"] }, [false, false, true]],
	[{ scheduled_tasks: [] }, [false, false, false]],
	[{ jobs: ["a"] }, [false, true, false]],
	[{}, [false, true, false]],
])(
	"capabilities %j: listed as destination, frontend app, import app: %j; found by id through all three",
	async (capabilities, expected) => {
		const home = await world();
		const { id } = await make(home, { capabilities });
		const listed = await Promise.all(
			FAMILIES.map(async (family) => {
				const path = `/${family}/${id}`;
				expect((await home.here("GET", path)).body.id).toBe(id);
				return (await home.here("GET", `/${family}`)).body.count === 1;
			}),
		);
		expect(listed).toEqual(expected);
		const [plugin] = (await home.here("GET", "/plugins")).body.results;
		expect(plugin).toMatchObject({ id, capabilities });
		expect(plugin.families).toEqual(FAMILIES.filter((_, i) => expected[i]));
	},
);

describe("the list of all plugins", () => {
	const names = (answer: Awaited<ReturnType<Home["here"]>>) =>
		answer.body.results.map(({ name }: { name: string }) => name);

	test("contains the plugins visible to the organization, newest first, with the families of each", async () => {
		const [home, other] = [await world(), await world()];
		await make(home, { name: "old" });
		await make(other, { name: "hidden" });
		const used = await make(other, { name: "used" });
		const shared = await make(other, { name: "shared", is_global: true });
		await make(home, { name: "new" }, IMPORTS);
		const configured = await home.ask("POST", `/api/projects/${home.project}/plugin_configs`, {
			body: { plugin: used.id, order: 1 },
		});
		// The plugin isn't visible to this organization yet.
		expect(configured.status).toBe(400);
		await db.insert(pluginConfigs).values([
			{
				project_id: home.project,
				organization_id: organizationId(home.id),
				plugin_id: used.id,
				order: 1,
			},
			{
				project_id: home.project,
				organization_id: organizationId(home.id),
				plugin_id: used.id,
				order: 2,
			},
		]);
		const answer = await home.here("GET", "/plugins/");
		expect(answer).toMatchObject({ status: 200, body: { count: 4 } });
		expect(names(answer)).toEqual(["new", "shared", "used", "old"]);
		expect(answer.body.results[0].families).toEqual([IMPORTS]);
		expect(answer.body.results[3].families).toEqual([DESTINATIONS]);
		await other.here("PATCH", `/${DESTINATIONS}/${shared.id}`, {
			body: { is_global: false },
		});
		await db
			.update(pluginConfigs)
			.set({ deleted: true })
			.where(eq(pluginConfigs.plugin_id, used.id));
		expect(names(await home.here("GET", "/plugins/"))).toEqual(["new", "old"]);
	});

	test("can be searched in name, description and url, and filtered by family", async () => {
		const home = await world();
		await make(home, { name: "Alpha" }, FRONTEND);
		await make(home, { name: "B", description: "Next to alpha." }, IMPORTS);
		await make(home, { name: "C" });
		await db.insert(plugins).values({
			organization_id: organizationId(home.id),
			plugin_type: "custom",
			name: "D",
			url: "https://github.com/u/ALPHA",
			capabilities: { methods: ["processEvent"] },
		});
		const ask = (query: string) => home.here("GET", `/plugins?${query}`);
		expect(names(await ask("search=aLPha"))).toEqual(["D", "B", "Alpha"]);
		expect(names(await ask("search=%25"))).toEqual([]);
		await make(home, { name: "Überblick" });
		expect(names(await ask("search=ÜBERBLICK"))).toEqual(["Überblick"]);
		expect(names(await ask("search=überblick"))).toEqual(["Überblick"]);
		expect(names(await ask(`family=${FRONTEND}`))).toEqual(["Alpha"]);
		expect(names(await ask(`family=${IMPORTS}&family=Pipeline_Destinations`))).toEqual([
			"Überblick",
			"C",
			"B",
		]);
		const all = [DESTINATIONS, FRONTEND, IMPORTS].map((family) => `family=${family}`).join("&");
		expect(names(await ask(all))).toEqual(["Überblick", "C", "B", "Alpha"]);
		expect(names(await ask(`search=alpha&family=${IMPORTS}`))).toEqual(["B"]);
		expect(await ask("family=other")).toMatchObject({
			status: 400,
			body: { code: "invalid_choice" },
		});
	});

	test("can start at an offset without a cursor", async () => {
		const home = await world();
		for (const name of ["a", "b", "c", "d", "e"]) await make(home, { name });
		const page = await home.here("GET", "/plugins?limit=2&offset=2");
		expect(names(page)).toEqual(["c", "b"]);
		expect(names(await home.ask("GET", page.body.next))).toEqual(["a"]);
		expect(names(await home.ask("GET", page.body.previous))).toEqual(["e", "d"]);
	});

	test("retrieving a plugin costs the same however many there are", async () => {
		const home = await world();
		const { id } = await make(home);
		const readCost = async () => cost(await home.here("GET", `/${DESTINATIONS}/${id}`)).read;
		const before = await readCost();
		await times(200, () =>
			db.insert(plugins).values({
				organization_id: organizationId(home.id),
				plugin_type: "source",
				capabilities: {},
			}),
		);
		expect(await readCost()).toBe(before);
	});
});

test("a plugin of no family can be installed, read, edited and deleted", async () => {
	const home = await world();
	const created = await make(home, {
		url: "https://www.npmjs.com/package/enriching",
	});
	expect(created.capabilities).toEqual({ methods: ["processEvent"] });
	for (const family of FAMILIES) expect((await home.here("GET", `/${family}`)).body.count).toBe(0);
	expect((await home.here("GET", "/plugins")).body).toMatchObject({
		count: 1,
		results: [{ id: created.id, families: [] }],
	});
	const path = `/${FRONTEND}/${created.id}`;
	expect((await home.here("GET", path)).body).toEqual(created);
	expect((await home.here("PATCH", path, { body: { name: "Enriches" } })).body.name).toBe(
		"Enriches",
	);
	expect((await home.here("POST", `${path}/upgrade`)).status).toBe(200);
	expect((await home.here("DELETE", path)).status).toBe(204);
	expect((await home.here("GET", "/plugins")).body.count).toBe(0);
});

test("a plugin keeps its path when its source moves it to another family", async () => {
	const home = await world();
	const { id } = await make(home, { name: "Greeter" }, FRONTEND);
	const path = `/${FRONTEND}/${id}`;
	const source =
		"exports.runEveryHour = () => {}; exports.jobs = { greet({ name }) { console.log('Hello ' + name) } };";
	const written = await home.here("PATCH", `${path}/update_source/`, {
		body: { "index.js": source },
	});
	expect(written).toMatchObject({
		status: 200,
		body: { capabilities: { jobs: ["greet"] } },
	});
	expect((await home.here("GET", `/${FRONTEND}`)).body.count).toBe(0);
	expect((await home.here("GET", path)).body.name).toBe("Greeter");
	expect((await home.here("GET", `${path}/source`)).body.files).toEqual({
		"index.js": source,
	});
	const config = await home.ask("POST", `/api/projects/${home.project}/plugin_configs/`, {
		body: { plugin: id, order: 1, enabled: true },
	});
	expect(config.status).toBe(201);
	const configPath = `/api/projects/${home.project}/plugin_configs/${config.body.id}`;
	const job = await home.ask("POST", `${configPath}/job/`, {
		body: { job: { type: "greet", payload: { name: "Ada" } } },
	});
	expect(job.status).toBe(200);
	await eventually(async () =>
		expect((await home.ask("GET", `${configPath}/logs?search=Hello`)).body.results).toMatchObject([
			{ message: "Hello Ada" },
		]),
	);
	expect((await home.here("PATCH", path, { body: { name: "Renamed" } })).body.name).toBe("Renamed");
});

test.each([
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
	[{ capabilities: [] }, "invalid_input", "Expected a dictionary of items.", "capabilities"],
	[
		{ capabilities: { methods: "x" } },
		"not_a_list",
		'Expected a list of items but got type "str".',
		"capabilities__methods",
	],
	[{ metrics: { sent: "avg" } }, "invalid_choice", '"avg" is not a valid choice.', "metrics__sent"],
	[{ public_jobs: "x" }, "invalid_input", "Expected a dictionary of items.", "public_jobs"],
	[{ is_global: "maybe" }, "invalid_input", "Must be a valid boolean.", "is_global"],
	[
		{ url: "x".repeat(801) },
		"max_length",
		"Ensure this field has no more than 800 characters.",
		"url",
	],
])("%j is rejected", async (body, code, detail, attr) => {
	const { here } = await world();
	expect(await here("POST", `/${DESTINATIONS}`, { body })).toMatchObject(wrong(code, detail, attr));
});

describe("access", () => {
	test("reading needs level 3, writing 6, global plugins 9", async () => {
		const home = await world();
		const { id } = await make(home);
		const LOW = "Your organization's plugin access level is insufficient.";
		const GLOBAL = "This organization can't manage global plugins!";
		await access(home.id, 0);
		expect(await home.here("GET", `/${DESTINATIONS}`)).toMatchObject(forbidden(LOW));
		await access(home.id, 3);
		expect((await home.here("GET", `/${DESTINATIONS}/${id}`)).status).toBe(200);
		expect(await home.here("PATCH", `/${DESTINATIONS}/${id}`, { body: { name: 7 } })).toMatchObject(
			forbidden(LOW),
		);
		await access(home.id, 6);
		expect(
			(
				await home.here("POST", `/${DESTINATIONS}`, {
					body: { is_global: false },
				})
			).status,
		).toBe(201);
		expect(
			await home.here("POST", `/${DESTINATIONS}`, {
				body: { is_global: true },
			}),
		).toMatchObject(forbidden(GLOBAL));
		expect(
			await home.here("PATCH", `/${DESTINATIONS}/${id}`, {
				body: { is_global: false },
			}),
		).toMatchObject(forbidden(GLOBAL));
		expect(
			(
				await home.here("PATCH", `/${DESTINATIONS}/${id}`, {
					body: { name: "x" },
				})
			).body.name,
		).toBe("x");
		await access(home.id, 9);
		expect(
			(
				await home.here("PATCH", `/${DESTINATIONS}/${id}`, {
					body: { is_global: true },
				})
			).body.is_global,
		).toBe(true);
		await db.update(plugins).set({ is_global: false }).where(eq(plugins.id, id));
	});

	test("another organization sees global plugins and those that its projects have configs of, but changes neither", async () => {
		const [owner, user] = [await world(), await world()];
		const shared = await make(owner, { is_global: true });
		const used = await make(owner);
		const hidden = await make(owner);
		await db.insert(pluginConfigs).values({
			project_id: user.project,
			organization_id: organizationId(user.id),
			plugin_id: used.id,
			order: 1,
		});
		const ids = (await user.here("GET", `/${DESTINATIONS}`)).body.results.map(
			({ id }: { id: number }) => id,
		);
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
		await db.update(plugins).set({ is_global: false }).where(eq(plugins.id, shared.id));
	});

	test("a global plugin must be made local before it is deleted; its source and configs are deleted with it", async () => {
		const home = await world();
		const { id } = await make(home, { is_global: true });
		await home.here("PATCH", `/${DESTINATIONS}/${id}/update_source`, {
			body: { "index.js": "export function onEvent() {}" },
		});
		await home.ask("POST", `/api/projects/${home.project}/plugin_configs`, {
			body: { plugin: id, order: 1 },
		});
		expect(await home.here("DELETE", `/${DESTINATIONS}/${id}`)).toMatchObject(
			wrong(
				"invalid_input",
				"This plugin is marked as global! Make it local before uninstallation",
				null,
			),
		);
		await home.here("PATCH", `/${DESTINATIONS}/${id}`, {
			body: { is_global: false },
		});
		expect((await home.here("DELETE", `/${DESTINATIONS}/${id}`)).status).toBe(204);
		expect((await home.here("GET", `/${DESTINATIONS}/${id}`)).status).toBe(404);
		expect(
			await db.select().from(pluginSourceFiles).where(eq(pluginSourceFiles.plugin_id, id)),
		).toEqual([]);
		expect((await home.ask("GET", `/api/projects/${home.project}/plugin_configs`)).body.count).toBe(
			0,
		);
	});
});

describe("a plugin that another organization has a config of", () => {
	const USED = wrong("invalid_input", "This plugin is used by other organizations.", null);

	async function used() {
		const [home, other] = [await world(), await world()];
		const { id } = await make(home);
		const use = () =>
			db.insert(pluginConfigs).values({
				project_id: other.project,
				organization_id: organizationId(other.id),
				plugin_id: id,
				order: 1,
			});
		return { home, other, id, path: `/${DESTINATIONS}/${id}`, use };
	}

	test("can’t be deleted until that config is deleted", async () => {
		const { home, id, path, use } = await used();
		await use();
		await db.insert(pluginConfigs).values({
			project_id: home.project,
			organization_id: organizationId(home.id),
			plugin_id: id,
			order: 1,
		});
		expect(await home.here("DELETE", path)).toMatchObject(USED);
		await db.update(pluginConfigs).set({ deleted: true }).where(eq(pluginConfigs.plugin_id, id));
		expect((await home.here("DELETE", path)).status).toBe(204);
	});

	test("is not deleted if the config is created while the request is in progress", async () => {
		const { home, path, use } = await used();
		const answer = await home.here("DELETE", path, { env: racing(use) });
		expect(answer).toMatchObject(USED);
		expect((await home.here("GET", path)).status).toBe(200);
		expect((await home.here("GET", "/activity_log?activity=deleted")).body.count).toBe(0);
	});

	test("is deleted by exactly one of twenty concurrent requests", async () => {
		const { home, path } = await used();
		const answers = await Promise.all(Array.from({ length: 20 }, () => home.here("DELETE", path)));
		const statuses = answers.map(({ status }) => status).sort();
		expect(statuses).toEqual([204, ...Array(19).fill(404)]);
		expect((await home.here("GET", "/activity_log?activity=deleted")).body.count).toBe(1);
	});
});

describe("code that runs with stored secrets", () => {
	const INSUF = forbidden("Your organization access level is insufficient.");

	/** A plugin with a config, its owner, and a member of level 1. */
	async function shared() {
		const home = await world();
		const schema = [{ key: "token", type: "string", secret: true }];
		const { id } = await make(home, { config_schema: schema });
		const path = `/${DESTINATIONS}/${id}`;
		const configs = `/api/projects/${home.project}/plugin_configs`;
		const config = (await home.ask("POST", configs, { body: { plugin: id, order: 1 } })).body.id;
		const keepSecret = () =>
			home.ask("PATCH", `${configs}/${config}`, {
				body: { config: { token: "hunter22" } },
			});
		const member = await join(home.id, 1);
		const admin = await join(home.id, 8);
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
		const as = (
			{ key }: { key: string },
			[method, below, body]: readonly [string, string, object],
			env: Partial<Env> = {},
		) => home.here(method, `${path}${below}`, { key, body, env });
		return {
			...home,
			plugin: id,
			path,
			config,
			keepSecret,
			member,
			admin,
			changes,
			as,
		};
	}

	test("can be changed by members until a secret is stored, and only by admins after that", async () => {
		const { here, path, keepSecret, member, admin, changes, as } = await shared();
		for (const change of changes("first"))
			expect([200, 400]).toContain((await as(member, change)).status);
		await keepSecret();
		const before = (await here("GET", `${path}/source`)).body;
		expect(before).toMatchObject({
			files: { "index.js": "exports.first = 1" },
			capabilities: { jobs: ["first"] },
			public_jobs: { first: {} },
		});
		for (const change of changes()) expect(await as(member, change)).toMatchObject(INSUF);
		expect((await here("GET", `${path}/source`)).body).toEqual(before);
		// Members may still make changes that don't affect the code.
		const { capabilities, public_jobs } = before;
		const rename = { name: "Renamed", capabilities, public_jobs };
		expect((await as(member, ["PATCH", "", rename])).body.name).toBe("Renamed");
		for (const change of changes()) expect([200, 400]).toContain((await as(admin, change)).status);
	});

	test("includes secrets in the plugin’s storage", async () => {
		const { config, member, changes, as } = await shared();
		await db
			.insert(pluginStorage)
			.values({ plugin_config_id: config, key: "token", bytes: 1, value: "sealed" });
		for (const change of changes()) expect(await as(member, change)).toMatchObject(INSUF);
	});

	test("includes secrets of other organizations and of deleted configs", async () => {
		const { plugin, member, changes, as } = await shared();
		const share = (is_global: boolean) =>
			db.update(plugins).set({ is_global }).where(eq(plugins.id, plugin));
		await share(true);
		const other = await world();
		const path = `/api/projects/${other.project}/plugin_configs`;
		const created = await other.ask("POST", path, {
			body: { plugin, order: 1, config: { token: "hunter22" } },
		});
		await other.ask("PATCH", `${path}/${created.body.id}`, {
			body: { deleted: true },
		});
		await share(false);
		for (const change of changes()) expect(await as(member, change)).toMatchObject(INSUF);
	});

	test("is not changed if a secret is stored while the request is in progress", async () => {
		const { here, path, keepSecret, member, changes, as } = await shared();
		const before = (await here("GET", `${path}/source`)).body;
		const valid = changes().filter(
			([method, , body]) => method === "PATCH" && !Object.values(body).includes(7),
		);
		expect(valid).toHaveLength(3);
		for (const change of valid) {
			expect(await as(member, change, racing(keepSecret))).toMatchObject(
				forbidden("Your access changed during the request."),
			);
			await db.update(pluginConfigs).set({ config: {} });
		}
		expect((await here("GET", `${path}/source`)).body).toEqual(before);
	});

	test("is not upgraded if a secret is stored while the request is in progress", async () => {
		const { here, ask, project, id } = await world();
		const url = "https://www.npmjs.com/package/hello";
		const created = (await here("POST", `/${DESTINATIONS}`, { body: { url } })).body;
		const { key } = await join(id, 1);
		const config = await ask("POST", `/api/projects/${project}/plugin_configs`, {
			body: { plugin: created.id, order: 1 },
		});
		const store = async () => {
			await db.insert(pluginStorage).values({
				plugin_config_id: config.body.id,
				key: "token",
				bytes: 1,
				value: "sealed",
			});
		};
		expect(
			await here("POST", `/${DESTINATIONS}/${created.id}/upgrade`, {
				key,
				env: racing(store),
			}),
		).toMatchObject(forbidden("Your access changed during the request."));
	});
});

describe("source", () => {
	test.each(["__proto__", " __proto__ "])("named %j is rejected", async (name) => {
		const home = await world();
		const { id } = await make(home);
		const path = `/${DESTINATIONS}/${id}`;
		for (const text of ["x", null])
			expect(
				await home.here("PATCH", `${path}/update_source`, {
					body: Object.fromEntries([
						[name, text],
						["index.js", ""],
					]),
				}),
			).toMatchObject(wrong("invalid_input", 'The name "__proto__" is not allowed.', name));
		expect((await home.here("GET", `${path}/source`)).body.files).toEqual({});
	});

	test("named like a method of Object.prototype is stored like any other", async () => {
		const home = await world();
		const { id } = await make(home);
		const path = `/${DESTINATIONS}/${id}`;
		const write = (body: object) => home.here("PATCH", `${path}/update_source`, { body });
		const files = { constructor: "a", toString: "b", hasOwnProperty: "c" };
		// Deleting files that don't exist changes nothing.
		await write({ constructor: null, valueOf: null });
		expect((await write(files)).body.files).toEqual(files);
		await write({ constructor: "d", toString: null });
		expect((await home.here("GET", `${path}/source`)).body.files).toEqual({
			constructor: "d",
			hasOwnProperty: "c",
		});
		const { results } = (await home.here("GET", "/activity_log?activity=source_updated")).body;
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
		const home = await world();
		const { id } = await make(home);
		const path = `/${DESTINATIONS}/${id}`;
		const files = {
			"index.ts":
				"export async function onEvent(event: object) {}\nexport function runEveryHour() {}\nexport const jobs = { retry() {} }",
			"frontend.tsx": "export const scene = <p>Hello</p>",
			"site.ts": "export const x: number = (",
			"plugin.json": '{"name": "Written", "config": [{"key": "k", "type": "string"}]}',
		};
		const { status, body } = await home.here("PATCH", `${path}/update_source/`, { body: files });
		expect(status).toBe(200);
		expect(body).toMatchObject({
			id,
			name: "Written",
			config_schema: [{ key: "k", type: "string" }],
			capabilities: {
				methods: ["onEvent"],
				scheduled_tasks: ["runEveryHour"],
				jobs: ["retry"],
			},
		});
		expect(body.files).toEqual(files);
		expect(body.errors).toEqual({ "site.ts": expect.stringMatching(/\(1:27\)$/) });
		expect((await home.here("GET", `${path}/source/`)).body).toEqual(body);
		const rows = await db
			.select()
			.from(pluginSourceFiles)
			.where(eq(pluginSourceFiles.plugin_id, id));
		const of = (name: string) => rows.find(({ filename }) => filename === name);
		expect(of("frontend.tsx")).toMatchObject({
			compiled: expect.stringContaining("React.createElement"),
			error: null,
		});
		expect(of("site.ts")).toMatchObject({
			compiled: null,
			error: expect.stringMatching(/\d/),
		});
		const after = await home.here("PATCH", `${path}/update_source`, {
			body: {
				"site.ts": null,
				"index.ts": "export function processEvent() {}",
			},
		});
		expect(Object.keys(after.body.files).toSorted()).toEqual([
			"frontend.tsx",
			"index.ts",
			"plugin.json",
		]);
		expect(after.body.capabilities).toEqual({ methods: ["processEvent"] });
		expect(after.body.errors).toEqual({});
		const broken = await home.here("PATCH", `${path}/update_source`, {
			body: { "index.ts": "const = 5" },
		});
		expect(broken.status).toBe(200);
		expect(Object.keys(broken.body.errors)).toEqual(["index.ts"]);
	});

	test.each([
		[{ "plugin.json": "{" }, "plugin.json"],
		[{ "plugin.json": "[]" }, "plugin.json"],
		[{ "plugin.json": '{"name": 7}' }, "plugin.json"],
		[{ "index.js": 7 }, "index.js"],
		[Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`${i}.js`, ""])), null],
	])("%j is rejected", async (body, attr) => {
		const home = await world();
		const { id } = await make(home);
		expect(
			await home.here("PATCH", `/${DESTINATIONS}/${id}/update_source`, {
				body,
			}),
		).toMatchObject({ status: 400, body: { attr } });
		expect((await home.here("GET", `/${DESTINATIONS}/${id}/source`)).body.files).toEqual({});
	});

	test("that can't be parsed leaves the capabilities unchanged", async () => {
		const home = await world();
		const { id } = await make(home);
		const path = `/${DESTINATIONS}/${id}`;
		const body = { "index.ts": `export const x = ${"<T>(".repeat(40)}` };
		const { status } = await home.here("PATCH", `${path}/update_source`, {
			body,
		});
		expect(status).toBe(200);
		expect((await home.here("GET", path)).body.capabilities).toEqual({
			methods: ["onEvent"],
		});
	});

	test("of nearly 1 MiB stays below D1’s limits for a value and for a row", async () => {
		const D1_MAX_BYTES = 2_000_000;
		const home = await world();
		const { id } = await make(home);
		const path = `/${DESTINATIONS}/${id}`;
		const file = (length: number) => `export const text = "${"x".repeat(length)}";`;
		const { env: weighed, heaviest } = weighing();
		const write = async (text: string) => {
			const body = { "site.ts": text };
			const answer = await home.here("PATCH", `${path}/update_source`, {
				body,
				env: weighed,
			});
			expect(answer).toMatchObject({ status: 200, body: { files: body } });
			const [row] = await db
				.select()
				.from(pluginSourceFiles)
				.where(eq(pluginSourceFiles.plugin_id, id));
			expect(JSON.stringify(row).length).toBeLessThan(D1_MAX_BYTES);
			return row;
		};
		const large = await write(file(1_048_000));
		expect(large).toMatchObject({
			compiled: null,
			error: "The file is too large to compile.",
		});
		expect((await write(file(900_000)))?.compiled).toContain("xxx");
		// A newline takes two bytes in JSON. Archives can contain such files, too.
		const lines = "\n".repeat(1_048_576);
		await db
			.update(pluginSourceFiles)
			.set({ source: lines, compiled: null })
			.where(eq(pluginSourceFiles.plugin_id, id));
		const { body } = await home.here("GET", `${path}/source`, { env: weighed });
		expect(body.files).toEqual({ "site.ts": lines });
		expect(heaviest()).toBeLessThan(D1_MAX_BYTES);
	});

	test("of more than 1 MiB, or of a plugin that isn’t of type source, is rejected", async () => {
		const home = await world();
		const { id } = await make(home);
		const half = "x".repeat(600_000);
		expect(
			(
				await home.here("PATCH", `/${DESTINATIONS}/${id}/update_source`, {
					body: { a: half },
				})
			).status,
		).toBe(200);
		expect(
			(
				await home.here("PATCH", `/${DESTINATIONS}/${id}/update_source`, {
					body: { b: half },
				})
			).body.detail,
		).toBe("The source of a plugin can be at most 1 MiB.");
		const local = await make(home, { plugin_type: "local" });
		expect(
			(
				await home.here("PATCH", `/${DESTINATIONS}/${local.id}/update_source`, {
					body: {},
				})
			).body.detail,
		).toBe("Only plugins of type source can be edited.");
	});
});

describe("installing from a url", () => {
	const url = "https://www.npmjs.com/package/hello";

	test("uses the package’s manifest; the plugin can be checked for updates and upgraded", async () => {
		const home = await world();
		const old = await make(home, { url: `${url}/v/1.0.0`, name: "ignored" });
		expect(old).toMatchObject({
			plugin_type: "custom",
			url: `${url}/v/1.0.0`,
			tag: "1.0.0",
			latest_tag: "1.1.0",
		});
		const [family] = (
			await Promise.all(
				FAMILIES.map(async (name) =>
					(await home.here("GET", `/${name}/${old.id}`)).status === 200 ? [name] : [],
				),
			)
		).flat();
		const path = `/${family}/${old.id}`;
		const check = await home.here("GET", `${path}/check_for_updates/`);
		expect(check.body).toMatchObject({
			id: old.id,
			latest_tag: "1.1.0",
			update_available: true,
		});
		expect(cost(check)).toMatchObject({ trips: 1, written: 0 });
		expect(Object.keys((await home.here("GET", `${path}/source`)).body.files)).toContain(
			"plugin.json",
		);
		const again = await home.here("POST", `${path}/upgrade/`);
		expect(again).toMatchObject({
			status: 200,
			body: { id: old.id, tag: "1.0.0" },
		});
		expect(
			(await home.here("GET", "/activity_log?scope=Plugin")).body.results.map(
				({ activity }: { activity: string }) => activity,
			),
		).toEqual(["upgraded", "created"]);
	});

	test("check_for_updates stores the newest tag of one's own plugin; for another organization's it returns the stored tag and makes no request", async () => {
		const [home, other] = [await world(), await world()];
		const { id } = await make(home, { url });
		const path = `/${DESTINATIONS}/${id}`;
		const setLatestTag = (latest_tag: string | null, fields = {}) =>
			db
				.update(plugins)
				.set({ latest_tag, ...fields })
				.where(eq(plugins.id, id));
		await setLatestTag("1.0.5", { is_global: true });
		const noRegistry = { NPM_REGISTRY_URL: "" };
		const ask = (env: Partial<Env> = {}) => other.here("GET", `${path}/check_for_updates`, { env });
		expect((await ask(noRegistry)).body).toMatchObject({
			latest_tag: "1.0.5",
			update_available: true,
		});
		await setLatestTag(null);
		expect((await ask()).body).toMatchObject({
			latest_tag: null,
			update_available: false,
		});
		await setLatestTag("1.0.5", { is_global: false });
		expect((await home.here("GET", `${path}/check_for_updates`)).body).toMatchObject({
			latest_tag: "1.1.0",
			update_available: false,
		});
		await eventually(async () =>
			expect((await home.here("GET", path)).body.latest_tag).toBe("1.1.0"),
		);
	});

	test("is possible once per organization, whatever the query string", async () => {
		const [home, other] = [await world(), await world()];
		const created = await make(home, { url });
		const again = await home.here("POST", `/${IMPORTS}`, {
			body: { url: `${url}?x=1` },
		});
		expect(again).toMatchObject(
			wrong("invalid_input", `Plugin from URL "${url}" already installed!`, null),
		);
		const [, link = ""] =
			/^<(.+)>; rel="item", <\/docs\/.+>; rel="help"$/.exec(again.headers.get("link") ?? "") ?? [];
		expect((await home.ask("GET", link)).body).toEqual(created);
		await make(other, { url });
	});

	test("is possible once per organization, however the url is written", async () => {
		const home = await world();
		const detail = 'Plugin from URL "https://github.com/u/hello" already installed!';
		const created = await make(home, {
			url: "http://www.GitHub.com/u/hello.git/",
		});
		expect(created.url).toBe("https://github.com/u/hello");
		for (const url of ["https://github.com/u/hello", "https://github.com/u/hello/?x"])
			expect(await home.here("POST", `/${DESTINATIONS}`, { body: { url } })).toMatchObject(
				wrong("invalid_input", detail, null),
			);
	});

	test("by 20 concurrent requests installs the plugin once", async () => {
		const home = await world();
		const responses = await Promise.all(
			Array.from({ length: 20 }, () => home.here("POST", `/${DESTINATIONS}`, { body: { url } })),
		);
		expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
		const rejection = wrong("invalid_input", `Plugin from URL "${url}" already installed!`, null);
		for (const answer of responses)
			if (answer.status !== 201) {
				expect(answer).toMatchObject(rejection);
				expect(answer.headers.get("link")).toMatch(/\/\d+\/>; rel="item", /);
			}
		expect(
			await db
				.select()
				.from(plugins)
				.where(eq(plugins.organization_id, organizationId(home.id))),
		).toHaveLength(1);
	});

	test.each([
		["https://example.com/x", "Must be a GitHub/GitLab repository or a npm package URL!"],
		["https://www.npmjs.com/package/absent", "Could not find npm package absent."],
		[
			"https://www.npmjs.com/package/long-version",
			"Could not read the metadata of npm package long-version.",
		],
		[
			"https://www.npmjs.com/package/large-manifest",
			"The source of a plugin can be at most 1 MiB.",
		],
	])("%s is rejected", async (bad, detail) => {
		const { here } = await world();
		expect(await here("POST", `/${DESTINATIONS}`, { body: { url: bad } })).toMatchObject(
			wrong("invalid_input", detail, null),
		);
	});

	test("is rejected with a reason if npm is not configured", async () => {
		const { here } = await world();
		expect(
			await here("POST", `/${DESTINATIONS}`, {
				body: { url },
				env: { NPM_REGISTRY_URL: "" },
			}),
		).toMatchObject(wrong("invalid_input", "Installing from npm is not configured.", null));
	});

	test("uses a private token, stores it sealed and never returns it", async () => {
		const home = await world();
		const created = await make(home, {
			url: `https://github.com/u/private?private_token=${TOKEN}`,
		});
		expect(created.url).toBe("https://github.com/u/private");
		const visible = [
			created,
			(await home.here("GET", "/activity_log")).body,
			await db.select().from(plugins),
		];
		expect(JSON.stringify(visible)).not.toContain(TOKEN);
		const [row] = await db.select().from(plugins).where(eq(plugins.id, created.id));
		expect(row?.private_token).toMatch(/^sealed:/);
	});

	describe("upgrading to the url of another version", () => {
		const move = (home: Home, { id }: { id: number }, url: string) =>
			home.here("POST", `/${DESTINATIONS}/${id}/upgrade`, { body: { url } });

		test("installs that version, which the plugin then has, and is in the log", async () => {
			const home = await world();
			const old = await make(home, { url: `${url}/v/1.0.0` });
			const moved = await move(home, old, `${url}/v/1.1.0/?activeTab=code`);
			expect(moved).toMatchObject({
				status: 200,
				body: { id: old.id, tag: "1.1.0", url: `${url}/v/1.1.0` },
			});
			expect(cost(moved).trips).toBe(2);
			expect((await home.here("GET", "/activity_log?scope=Plugin")).body.results[0]).toMatchObject({
				activity: "upgraded",
				detail: {
					changes: [
						{ field: "tag", before: "1.0.0", after: "1.1.0" },
						{ field: "url", before: `${url}/v/1.0.0`, after: `${url}/v/1.1.0` },
					],
				},
			});
			expect((await move(home, old, `${url}/v/1.0.0`)).body.tag).toBe("1.0.0");
			expect((await move(home, old, url)).body).toMatchObject({ tag: "1.1.0", url });
		});

		test("is rejected for another package, for source written in place, and for a missing version", async () => {
			const home = await world();
			const fixed = `${url}/v/1.0.0`;
			const installed = await make(home, { url: fixed });
			const other = "https://www.npmjs.com/package/@scope/hello";
			for (const wanted of [other, "https://github.com/u/hello", "https://example.com", ""])
				expect(await move(home, installed, wanted)).toMatchObject(
					wrong("invalid_input", `Must be a version of ${url}.`, "url"),
				);
			expect(await move(home, await make(home), url)).toMatchObject(
				wrong("invalid_input", "This plugin was not installed from a URL.", "url"),
			);
			expect(await move(home, installed, `${url}/v/9.9.9`)).toMatchObject(
				wrong("invalid_input", "Could not find version 9.9.9 of npm package hello.", null),
			);
			expect((await home.here("GET", `/${DESTINATIONS}/${installed.id}`)).body).toEqual(installed);
		});

		test("is rejected while another plugin is installed from it", async () => {
			const home = await world();
			const old = await make(home, { url: `${url}/v/1.0.0` });
			await make(home, { url });
			const rejected = await move(home, old, url);
			expect(rejected).toMatchObject(
				wrong("invalid_input", `Plugin from URL "${url}" already installed!`, null),
			);
			expect(rejected.headers.get("link")).toContain('rel="item"');
			expect((await home.here("GET", `/${DESTINATIONS}/${old.id}`)).body).toEqual(old);
		});

		test("keeps the token of a private repository, or replaces it", async () => {
			const home = await world();
			const page = "https://github.com/u/private";
			const created = await make(home, { url: `${page}?private_token=${TOKEN}` });
			const moved = await move(home, created, `${page}/tree/v1/x`);
			expect(moved).toMatchObject({
				status: 200,
				body: { url: `${page}/tree/v1/x`, tag: RELEASE },
			});
			const again = await home.here("POST", `/${DESTINATIONS}/${created.id}/upgrade`);
			expect(again).toMatchObject({ status: 200, body: { tag: RELEASE } });
			expect((await move(home, created, `${page}?private_token=wrong`)).status).toBe(400);
			expect((await move(home, created, `${page}?private_token=${TOKEN}`)).body.tag).toBe(HEAD);
		});

		test("stores the URL of the installed version, whichever of two concurrent requests is last", async () => {
			const home = await world();
			const old = await make(home, { url: `${url}/v/1.0.0` });
			const path = `/${DESTINATIONS}/${old.id}`;
			await Promise.all([move(home, old, `${url}/v/1.1.0`), home.here("POST", `${path}/upgrade`)]);
			const { body } = await home.here("GET", path);
			expect(body.url).toBe(`${url}/v/${body.tag}`);
		});
	});

	test("upgrade and check_for_updates change nothing for a plugin without a url", async () => {
		const home = await world();
		const created = await make(home);
		expect((await home.here("POST", `/${DESTINATIONS}/${created.id}/upgrade`)).body).toEqual(
			created,
		);
		expect(
			(await home.here("GET", `/${DESTINATIONS}/${created.id}/check_for_updates`)).body,
		).toEqual({
			...created,
			update_available: false,
		});
	});
});

describe("a list that also has a plugin’s fields", () => {
	test("has null in all of them if the list is empty", async () => {
		const { here } = await world();
		for (const path of ["activity", "unused", "exports_unsubscribe_configs"]) {
			const { body } = await here("GET", `/${DESTINATIONS}/${path}/`);
			const { count, next, previous, results, ...plugin } = body;
			expect({ count, next, previous, results }).toEqual({
				count: 0,
				next: null,
				previous: null,
				results: [],
			});
			expect(Object.keys(plugin)).toHaveLength(16);
			expect(new Set(Object.values(plugin))).toEqual(new Set([null]));
		}
	});

	test("has those of its first entry’s plugin", async () => {
		const home = await world();
		const [first, second] = [await make(home, { name: "one" }), await make(home, { name: "two" })];
		await home.here("PATCH", `/${DESTINATIONS}/${first.id}`, {
			body: { name: "One" },
		});
		const activity = (await home.here("GET", `/${DESTINATIONS}/activity`)).body;
		expect(activity).toMatchObject({
			id: first.id,
			name: "One",
			count: 3,
			results: [{ activity: "updated", item_id: String(first.id) }, {}, {}],
		});
		expect((await home.here("GET", `/${DESTINATIONS}/unused`)).body).toMatchObject({
			id: second.id,
			count: 2,
		});
		const config = await home.ask("POST", `/api/projects/${home.project}/plugin_configs`, {
			body: { plugin: second.id, order: 1, enabled: true },
		});
		expect((await home.here("GET", `/${DESTINATIONS}/unused`)).body).toMatchObject({
			id: first.id,
			count: 1,
		});
		expect(
			(await home.here("GET", `/${DESTINATIONS}/exports_unsubscribe_configs`)).body,
		).toMatchObject({
			id: second.id,
			count: 1,
			results: [{ id: config.body.id, plugin: second.id }],
		});
		expect((await home.here("GET", `/${FRONTEND}/activity`)).body.count).toBe(0);
	});

	test("lists the activity by person, action and time", async () => {
		const home = await world();
		const admin = await join(home.id, 8);
		const [first] = [await make(home, { name: "one" }), await make(home, { name: "two" })];
		await home.here("PATCH", `/${DESTINATIONS}/${first.id}`, {
			key: admin.key,
			body: { name: "One" },
		});
		const all = (await home.here("GET", `/${DESTINATIONS}/activity`)).body;
		const [newest, middle] = all.results;
		const asked = async (query: string) => {
			const { body } = await home.here("GET", `/${DESTINATIONS}/activity?${query}`);
			expect(body.count).toBe(body.results.length);
			return body.results;
		};
		expect(await asked(`user=${newest.user.uuid}`)).toEqual([newest]);
		expect(await asked("activity=created")).toEqual(all.results.slice(1));
		expect(await asked(`user=${newest.user.uuid}&activity=created`)).toEqual([]);
		expect(await asked(`before=${newest.created_at}&after=2001-01-01`)).toEqual(
			all.results.filter((entry: typeof newest) => entry.created_at < newest.created_at),
		);
		expect(await asked(`after=${middle.created_at}&activity=created`)).toEqual([]);
		expect((await home.here("GET", `/${FRONTEND}/activity?activity=created`)).body.count).toBe(0);
		expect(await home.here("GET", `/${DESTINATIONS}/activity?user=x`)).toMatchObject({
			status: 400,
			body: { attr: "user" },
		});
	});

	test("omits configs of projects that the caller doesn’t see", async () => {
		const home = await world();
		const { id } = await make(home);
		await home.ask("POST", `/api/projects/${home.project}/plugin_configs`, {
			body: { plugin: id, order: 1, enabled: true },
		});
		await home.ask("PATCH", `/api/projects/${home.project}`, {
			body: { access_control: true },
		});
		const { key } = await join(home.id, 1);
		expect(
			(
				await call(
					"GET",
					`/api/organizations/${home.id}/${DESTINATIONS}/exports_unsubscribe_configs`,
					{ key },
				)
			).body.count,
		).toBe(0);
	});

	test("the bundled repository has pages and shows which plugins are installed", async () => {
		const home = await world();
		const { body } = await home.here("GET", `/${IMPORTS}/repository?limit=2&offset=1`);
		expect(body.count).toBeGreaterThan(5);
		expect(body.results).toHaveLength(2);
		expect(body.results[0]).toEqual({
			name: expect.any(String),
			url: expect.stringMatching(/^https:\/\/github\.com\//),
			description: expect.any(String),
			verified: expect.any(Boolean),
			maintainer: expect.any(String),
			type: expect.any(String),
			icon: null,
			installed: false,
		});
		const [{ url }] = body.results;
		await db.insert(plugins).values({
			organization_id: organizationId(home.id),
			plugin_type: "custom",
			capabilities: {},
			url,
		});
		const after = (await home.here("GET", `/${IMPORTS}/repository?limit=1&offset=1`)).body;
		expect(after).toMatchObject({ url, results: [{ url, installed: true }] });
		expect(
			(await (await world()).here("GET", `/${IMPORTS}/repository?limit=1&offset=1`)).body.results[0]
				.installed,
		).toBe(false);
	});

	test("the repository reads only the plugins on its page", async () => {
		const home = await world();
		const page = () => home.here("GET", `/${IMPORTS}/repository?limit=2`);
		const { read } = cost(await page());
		await times(500, (i) =>
			db.insert(plugins).values({
				organization_id: organizationId(home.id),
				plugin_type: "custom",
				capabilities: {},
				url: `https://github.com/u/${i}`,
			}),
		);
		const after = cost(await page());
		expect(after.trips).toBe(1);
		expect(after.read).toBeLessThanOrEqual(read + 3);
	});

	test("the repository can be loaded from another host", async () => {
		const { here } = await world();
		const at = (list: string) =>
			here("GET", `/${IMPORTS}/repository`, {
				env: {
					PLUGIN_REPOSITORY_URL: env.GITHUB_API_URL.replace("github", list),
				},
			});
		const custom = await at("lists/own");
		expect(cost(custom).trips).toBe(2);
		expect(custom.body).toMatchObject({
			count: 1,
			results: [{ name: "Own", icon: null, installed: false }],
		});
		expect(await at("lists/none")).toMatchObject(
			wrong("invalid_input", "The plugin repository did not return a list of plugins.", null),
		);
	});

	test("a repository that can’t be reached is reported, but only to callers with access", async () => {
		const { here } = await world();
		const ask = (PLUGIN_REPOSITORY_URL: string) =>
			here("GET", `/${IMPORTS}/repository`, { env: { PLUGIN_REPOSITORY_URL } });
		expect(await ask(env.DOH_NOBODY)).toMatchObject(
			wrong("invalid_input", "Could not reach the plugin repository.", null),
		);
		const { key } = await world();
		const stranger = await here("GET", `/${IMPORTS}/repository`, {
			key,
			env: { PLUGIN_REPOSITORY_URL: env.DOH_NOBODY },
		});
		expect(stranger.status).toBe(403);
		expect(await ask("https://elsewhere.example.com/")).toMatchObject(
			wrong("invalid_input", "Could not reach the plugin repository.", null),
		);
	});
});
