import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import {
	organizations,
	pluginConfigs,
	pluginSourceFiles,
	plugins,
} from "../../src/db/schema.ts";
import { forbidden, wrong } from "../support/refusals.ts";
import { TOKEN } from "../support/registry.ts";
import {
	call,
	cost,
	db,
	join,
	times,
	weighing,
	world,
} from "../support/world.ts";

const FAMILIES = [
	"pipeline_destinations",
	"pipeline_frontend_apps",
	"pipeline_import_apps",
] as const;
const [DESTINATIONS, FRONTEND, IMPORTS] = FAMILIES;

type Home = Awaited<ReturnType<typeof world>>;

const make = async (
	{ here }: Home,
	body: object = {},
	family: string = DESTINATIONS,
) => {
	const made = await here("POST", `/${family}`, { body });
	expect(made.status).toBe(201);
	return made.body;
};

const access = (id: string, plugins_access_level: number) =>
	db
		.update(organizations)
		.set({ plugins_access_level })
		.where(eq(organizations.id, id));

test("a plugin is made with what the body says, and found again", async () => {
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
	const made = await make(home, fields);
	expect(made).toEqual({
		id: expect.any(Number),
		url: null,
		latest_tag: null,
		organization_id: home.id,
		organization_name: "Acme",
		x_function_migration_available: "false",
		...fields,
	});
	expect((await home.here("GET", `/${DESTINATIONS}/${made.id}/`)).body).toEqual(
		made,
	);
	expect((await home.here("GET", `/${DESTINATIONS}/`)).body).toMatchObject({
		count: 1,
		results: [made],
	});
});

test("what is made in a family without a word of capabilities is found there", async () => {
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
	[
		{ methods: ["composeWebhook"], scheduled_tasks: ["runEveryHour"] },
		[true, false, true],
	],
	[{ methods: ["processEvent"] }, [false, false, false]],
	[{ methods: ["setupPlugin"] }, [false, false, true]],
	[{ methods: [] }, [false, false, true]],
	[{ scheduled_tasks: ["runEveryMinute"] }, [false, false, true]],
	[{ scheduled_tasks: [] }, [false, false, false]],
	[{ jobs: ["a"] }, [false, true, false]],
	[{}, [false, true, false]],
])(
	"capabilities %j: destination, frontend app, import app: %j",
	async (capabilities, expected) => {
		const home = await world();
		const { id } = await make(home, { capabilities });
		const found = await Promise.all(
			FAMILIES.map(async (family) => {
				const list = (await home.here("GET", `/${family}`)).body.count === 1;
				const one = (await home.here("GET", `/${family}/${id}`)).status === 200;
				expect(one).toBe(list);
				return list;
			}),
		);
		expect(found).toEqual(expected);
	},
);

test.each([
	[
		{ plugin_type: "other" },
		"invalid_choice",
		'"other" is not a valid choice.',
		"plugin_type",
	],
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
	[
		{ capabilities: [] },
		"invalid_input",
		"Expected a dictionary of items.",
		"capabilities",
	],
	[
		{ capabilities: { methods: "x" } },
		"not_a_list",
		'Expected a list of items but got type "str".',
		"capabilities__methods",
	],
	[
		{ metrics: { sent: "avg" } },
		"invalid_choice",
		'"avg" is not a valid choice.',
		"metrics__sent",
	],
	[
		{ public_jobs: "x" },
		"invalid_input",
		"Expected a dictionary of items.",
		"public_jobs",
	],
	[
		{ is_global: "maybe" },
		"invalid_input",
		"Must be a valid boolean.",
		"is_global",
	],
	[
		{ url: "x".repeat(801) },
		"max_length",
		"Ensure this field has no more than 800 characters.",
		"url",
	],
])("%j is refused", async (body, code, detail, attr) => {
	const { here } = await world();
	expect(await here("POST", `/${DESTINATIONS}`, { body })).toMatchObject(
		wrong(code, detail, attr),
	);
});

describe("access", () => {
	test("reading needs level 3, writing 6, global plugins 9", async () => {
		const home = await world();
		const { id } = await make(home);
		const LOW = "Your organization's plugin access level is insufficient.";
		const GLOBAL = "This organization can't manage global plugins!";
		await access(home.id, 0);
		expect(await home.here("GET", `/${DESTINATIONS}`)).toMatchObject(
			forbidden(LOW),
		);
		await access(home.id, 3);
		expect((await home.here("GET", `/${DESTINATIONS}/${id}`)).status).toBe(200);
		expect(
			await home.here("PATCH", `/${DESTINATIONS}/${id}`, { body: { name: 7 } }),
		).toMatchObject(forbidden(LOW));
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
		await db
			.update(plugins)
			.set({ is_global: false })
			.where(eq(plugins.id, id));
	});

	test("others see a plugin that is global, or that one of their projects has a config of; they change neither", async () => {
		const [maker, user] = [await world(), await world()];
		const shared = await make(maker, { is_global: true });
		const used = await make(maker);
		const hidden = await make(maker);
		await db.insert(pluginConfigs).values({
			project_id: user.project,
			organization_id: user.id,
			plugin_id: used.id,
			order: 1,
		});
		const ids = (await user.here("GET", `/${DESTINATIONS}`)).body.results.map(
			({ id }: { id: number }) => id,
		);
		expect(ids).toEqual(expect.arrayContaining([used.id, shared.id]));
		expect(ids).not.toContain(hidden.id);
		expect(
			(await user.here("GET", `/${DESTINATIONS}/${hidden.id}`)).status,
		).toBe(404);
		const OTHERS =
			"This plugin installation is managed by another organization";
		for (const { id } of [shared, used])
			for (const [method, below, body] of [
				["PATCH", "", { name: 7 }],
				["DELETE", ""],
				["PATCH", "/update_source", {}],
				["POST", "/upgrade"],
			] as const)
				expect(
					await user.here(
						method,
						`/${DESTINATIONS}/${id}${below}`,
						body ? { body } : {},
					),
				).toMatchObject(forbidden(OTHERS));
		await db
			.update(pluginConfigs)
			.set({ deleted: true })
			.where(eq(pluginConfigs.plugin_id, used.id));
		expect((await user.here("GET", `/${DESTINATIONS}/${used.id}`)).status).toBe(
			404,
		);
		await db
			.update(plugins)
			.set({ is_global: false })
			.where(eq(plugins.id, shared.id));
	});

	test("a global plugin is made local before it is deleted; what hangs on it goes along", async () => {
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
		expect((await home.here("DELETE", `/${DESTINATIONS}/${id}`)).status).toBe(
			204,
		);
		expect((await home.here("GET", `/${DESTINATIONS}/${id}`)).status).toBe(404);
		expect(
			await db
				.select()
				.from(pluginSourceFiles)
				.where(eq(pluginSourceFiles.plugin_id, id)),
		).toEqual([]);
		expect(
			(await home.ask("GET", `/api/projects/${home.project}/plugin_configs`))
				.body.count,
		).toBe(0);
	});
});

describe("source", () => {
	test("is written, read back, compiled for browsers, and says what the plugin can", async () => {
		const home = await world();
		const { id } = await make(home);
		const path = `/${DESTINATIONS}/${id}`;
		const files = {
			"index.ts":
				"export async function onEvent(event: object) {}\nexport function runEveryHour() {}\nexport const jobs = { retry() {} }",
			"frontend.tsx": "export const scene = <p>Hello</p>",
			"site.ts": "export const x: number = (",
			"plugin.json":
				'{"name": "Written", "config": [{"key": "k", "type": "string"}]}',
		};
		const { status, body } = await home.here(
			"PATCH",
			`${path}/update_source/`,
			{ body: files },
		);
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
	});

	test.each([
		[{ "plugin.json": "{" }, "plugin.json"],
		[{ "plugin.json": "[]" }, "plugin.json"],
		[{ "plugin.json": '{"name": 7}' }, "plugin.json"],
		[{ "index.js": 7 }, "index.js"],
		[
			Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`${i}.js`, ""])),
			null,
		],
	])("%j is refused", async (body, attr) => {
		const home = await world();
		const { id } = await make(home);
		expect(
			await home.here("PATCH", `/${DESTINATIONS}/${id}/update_source`, {
				body,
			}),
		).toMatchObject({ status: 400, body: { attr } });
		expect(
			(await home.here("GET", `/${DESTINATIONS}/${id}/source`)).body.files,
		).toEqual({});
	});

	test("that can't be read leaves what the plugin can as it was", async () => {
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

	test("of nearly 1 MiB stays below what D1 takes as one value and as one row", async () => {
		const MOST = 2_000_000;
		const home = await world();
		const { id } = await make(home);
		const path = `/${DESTINATIONS}/${id}`;
		const file = (length: number) =>
			`export const text = "${"x".repeat(length)}";`;
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
			expect(JSON.stringify(row).length).toBeLessThan(MOST);
			return row;
		};
		const large = await write(file(1_048_000));
		expect(large).toMatchObject({
			compiled: null,
			error: "It is too large to compile.",
		});
		expect((await write(file(900_000)))?.compiled).toContain("xxx");
		// Newlines take twice as much within JSON, and come in archives, too.
		const lines = "\n".repeat(1_048_576);
		await db
			.update(pluginSourceFiles)
			.set({ source: lines, compiled: null })
			.where(eq(pluginSourceFiles.plugin_id, id));
		const { body } = await home.here("GET", `${path}/source`, { env: weighed });
		expect(body.files).toEqual({ "site.ts": lines });
		expect(heaviest()).toBeLessThan(MOST);
	});

	test("of more than 1 MiB in all, or of a plugin that is no source, is refused", async () => {
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
		).toBe("The source of a plugin has at most 1 MiB.");
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

	test("takes what the package says, and can be checked and upgraded", async () => {
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
					(await home.here("GET", `/${name}/${old.id}`)).status === 200
						? [name]
						: [],
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
		expect(
			Object.keys((await home.here("GET", `${path}/source`)).body.files),
		).toContain("plugin.json");
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

	test("once an organization, whatever the query", async () => {
		const [home, other] = [await world(), await world()];
		await make(home, { url });
		expect(
			await home.here("POST", `/${DESTINATIONS}`, {
				body: { url: `${url}?x=1` },
			}),
		).toMatchObject(
			wrong(
				"invalid_input",
				`Plugin from URL "${url}" already installed!`,
				null,
			),
		);
		await make(other, { url });
	});

	test("once an organization, however it is written", async () => {
		const home = await world();
		const detail =
			'Plugin from URL "https://github.com/u/hello" already installed!';
		const made = await make(home, {
			url: "http://www.GitHub.com/u/hello.git/",
		});
		expect(made.url).toBe("https://github.com/u/hello");
		for (const url of [
			"https://github.com/u/hello",
			"https://github.com/u/hello/?x",
		])
			expect(
				await home.here("POST", `/${DESTINATIONS}`, { body: { url } }),
			).toMatchObject(wrong("invalid_input", detail, null));
	});

	test("20 times at once installs it once", async () => {
		const home = await world();
		const made = await Promise.all(
			Array.from({ length: 20 }, () =>
				home.here("POST", `/${DESTINATIONS}`, { body: { url } }),
			),
		);
		expect(made.filter(({ status }) => status === 201)).toHaveLength(1);
		const refusal = wrong(
			"invalid_input",
			`Plugin from URL "${url}" already installed!`,
			null,
		);
		for (const answer of made)
			if (answer.status !== 201) expect(answer).toMatchObject(refusal);
		expect(
			await db
				.select()
				.from(plugins)
				.where(eq(plugins.organization_id, home.id)),
		).toHaveLength(1);
	});

	test.each([
		[
			"https://example.com/x",
			"Must be a GitHub/GitLab repository or a npm package URL!",
		],
		[
			"https://www.npmjs.com/package/absent",
			"Could not find npm package absent.",
		],
	])("%s is refused", async (bad, detail) => {
		const { here } = await world();
		expect(
			await here("POST", `/${DESTINATIONS}`, { body: { url: bad } }),
		).toMatchObject(wrong("invalid_input", detail, null));
	});

	test("where npm is not configured says so", async () => {
		const { here } = await world();
		expect(
			await here("POST", `/${DESTINATIONS}`, {
				body: { url },
				env: { NPM_REGISTRY_URL: "" },
			}),
		).toMatchObject(
			wrong("invalid_input", "Installing from npm is not configured.", null),
		);
	});

	test("a private token is used, kept sealed, and shown nowhere", async () => {
		const home = await world();
		const made = await make(home, {
			url: `https://github.com/u/private?private_token=${TOKEN}`,
		});
		expect(made.url).toBe("https://github.com/u/private");
		const told = [
			made,
			(await home.here("GET", "/activity_log")).body,
			await db.select().from(plugins),
		];
		expect(JSON.stringify(told)).not.toContain(TOKEN);
		const [row] = await db
			.select()
			.from(plugins)
			.where(eq(plugins.id, made.id));
		expect(row?.private_token).toMatch(/^sealed:/);
	});

	test("upgrade and check_for_updates do nothing for what came from nowhere", async () => {
		const home = await world();
		const made = await make(home);
		expect(
			(await home.here("POST", `/${DESTINATIONS}/${made.id}/upgrade`)).body,
		).toEqual(made);
		expect(
			(await home.here("GET", `/${DESTINATIONS}/${made.id}/check_for_updates`))
				.body,
		).toEqual({ ...made, update_available: false });
	});
});

describe("what is about many, and a plugin, too", () => {
	test("is null in all of a plugin’s fields where there is none", async () => {
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

	test("activity, unused and exports_unsubscribe_configs begin with their first entry’s plugin", async () => {
		const home = await world();
		const [one, two] = [
			await make(home, { name: "one" }),
			await make(home, { name: "two" }),
		];
		await home.here("PATCH", `/${DESTINATIONS}/${one.id}`, {
			body: { name: "One" },
		});
		const activity = (await home.here("GET", `/${DESTINATIONS}/activity`)).body;
		expect(activity).toMatchObject({
			id: one.id,
			name: "One",
			count: 3,
			results: [{ activity: "updated", item_id: String(one.id) }, {}, {}],
		});
		expect(
			(await home.here("GET", `/${DESTINATIONS}/unused`)).body,
		).toMatchObject({ id: two.id, count: 2 });
		const config = await home.ask(
			"POST",
			`/api/projects/${home.project}/plugin_configs`,
			{ body: { plugin: two.id, order: 1, enabled: true } },
		);
		expect(
			(await home.here("GET", `/${DESTINATIONS}/unused`)).body,
		).toMatchObject({ id: one.id, count: 1 });
		expect(
			(await home.here("GET", `/${DESTINATIONS}/exports_unsubscribe_configs`))
				.body,
		).toMatchObject({
			id: two.id,
			count: 1,
			results: [{ id: config.body.id, plugin: two.id }],
		});
		expect((await home.here("GET", `/${FRONTEND}/activity`)).body.count).toBe(
			0,
		);
	});

	test("configs of projects that the caller doesn’t see are left out", async () => {
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

	test("the repository ships with the worker, in pages, and says what is installed", async () => {
		const home = await world();
		const { body } = await home.here(
			"GET",
			`/${IMPORTS}/repository?limit=2&offset=1`,
		);
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
			organization_id: home.id,
			plugin_type: "custom",
			capabilities: {},
			url,
		});
		const after = (
			await home.here("GET", `/${IMPORTS}/repository?limit=1&offset=1`)
		).body;
		expect(after).toMatchObject({ url, results: [{ url, installed: true }] });
		expect(
			(
				await (
					await world()
				).here("GET", `/${IMPORTS}/repository?limit=1&offset=1`)
			).body.results[0].installed,
		).toBe(false);
	});

	test("the repository reads no plugins that it doesn't show", async () => {
		const home = await world();
		const page = () => home.here("GET", `/${IMPORTS}/repository?limit=2`);
		const { read } = cost(await page());
		await times(500, (i) =>
			db.insert(plugins).values({
				organization_id: home.id,
				plugin_type: "custom",
				capabilities: {},
				url: `https://github.com/u/${i}`,
			}),
		);
		const after = cost(await page());
		expect(after.trips).toBe(1);
		expect(after.read).toBeLessThanOrEqual(read + 3);
	});

	test("the repository may be elsewhere", async () => {
		const { here } = await world();
		const at = (list: string) =>
			here("GET", `/${IMPORTS}/repository`, {
				env: {
					PLUGIN_REPOSITORY_URL: env.GITHUB_API_URL.replace("github", list),
				},
			});
		const own = await at("lists/own");
		expect(cost(own).trips).toBe(2);
		expect(own.body).toMatchObject({
			count: 1,
			results: [{ name: "Own", icon: null, installed: false }],
		});
		expect(await at("lists/none")).toMatchObject(
			wrong(
				"invalid_input",
				"The plugin repository answered no list of plugins.",
				null,
			),
		);
	});

	test("a repository elsewhere that can’t be reached, or answers no list, is said to be so", async () => {
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
