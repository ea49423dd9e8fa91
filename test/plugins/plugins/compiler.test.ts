import { createScheduledController } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { plugins, pluginSourceFiles as sourceFiles } from "../../../src/db/schema/plugins.ts";
import type Compiler from "../../../src/plugins/compiler/worker.ts";
import { compileDue } from "../../../src/plugins/plugins/compile_later.ts";
import worker from "../../../src/worker.ts";
import { ending, loader } from "../../support/loader.ts";
import { withoutPatience } from "../../support/time.ts";
import { db, world } from "../../support/world.ts";

const MAIN = "export function onEvent() {}\nexport const jobs = { retry() {} }";

/** A plugin, and a function that writes its source with other bindings. */
async function plugin() {
	const { here, ask, project } = await world();
	const { body } = await here("POST", "/pipeline_destinations", { body: {} });
	const path = `/pipeline_destinations/${body.id}`;
	const write = (files: Record<string, string | null>, bindings: object = {}) =>
		here("PATCH", `${path}/update_source`, { body: files, env: bindings });
	return { id: Number(body.id), path, project, here, ask, write };
}

/** A compiler that ends while it compiles. */
const broken = ending("compile");

test("all files of a request are compiled in one call, in an isolate that the next request uses, too", async () => {
	const get = vi.fn<WorkerLoader["get"]>((name, getCode) => env.LOADER.get(name, getCode));
	const load = vi.fn<WorkerLoader["load"]>();
	const LOADER = loader({ get, load });
	const files = { "index.js": MAIN, "site.ts": "let a: 1", "frontend.tsx": "<p/>" };
	for (const { write } of [await plugin(), await plugin()])
		expect(await write(files, { LOADER })).toMatchObject({
			status: 200,
			body: { capabilities: { methods: ["onEvent"], jobs: ["retry"] }, errors: {} },
		});
	const ids = get.mock.calls.map(([name]) => name);
	expect(ids).toEqual([ids[0], ids[0]]);
	expect(load).not.toHaveBeenCalled();
	const code = await get.mock.calls[0]?.[1]();
	expect(code).toMatchObject({ globalOutbound: null, limits: { cpuMs: 10_000 } });
	expect(code).not.toHaveProperty("env");
});

test("files that aren't compiled need no compiler", async () => {
	const { write } = await plugin();
	const get = vi.fn<WorkerLoader["get"]>();
	const files = { "main.ts": "const = 5", "site.tsx": "const = 5", constructor: "const = 5" };
	const { status, body } = await write(files, { LOADER: loader({ get }) });
	expect({ status, errors: body.errors }).toEqual({ status: 200, errors: {} });
	expect(get).not.toHaveBeenCalled();
});

test("if the shared isolate ends, another one compiles the files", async () => {
	const log = vi.spyOn(console, "error").mockImplementation(() => {});
	const { write } = await plugin();
	const { status, body } = await write(
		{ "index.js": MAIN, "site.ts": "const = 5" },
		{ LOADER: loader({ get: broken }) },
	);
	expect(status).toBe(200);
	expect(body).toMatchObject({
		capabilities: { methods: ["onEvent"], jobs: ["retry"] },
		errors: { "site.ts": "Unexpected token (1:7)" },
	});
	expect(log).toHaveBeenCalledWith(expect.stringContaining("It ended."));
	log.mockRestore();
});

test.each([
	["a file that overflows the parser's stack", "(".repeat(100_000)],
	["a file that the parser would try in too many ways", `export const x = ${"<T>(".repeat(40)}`],
])("%s gets an error, and the capabilities stay", async (_, source) => {
	const { write } = await plugin();
	const { body: before } = await write({ "index.js": MAIN });
	const load = vi.fn<WorkerLoader["load"]>();
	const get: WorkerLoader["get"] = (name, getCode) => env.LOADER.get(name, getCode);
	const response = await write({ "index.ts": source }, { LOADER: loader({ get, load }) });
	expect(response).toMatchObject({
		status: 200,
		body: {
			errors: { "index.ts": "The source is nested too deeply." },
			capabilities: before.capabilities,
		},
	});
	// The shared isolate didn't end.
	expect(load).not.toHaveBeenCalled();
});

/** A compiler that never answers. */
const hanging = (): WorkerStub =>
	Object.assign(Object.create(null), {
		getEntrypoint: () => ({ compile: () => new Promise(() => {}) }),
	});

const NOT_DEPLOYED = { ASSETS: { fetch: async () => new Response(null, { status: 404 }) } };

test.each([
	["if that ends, too", { LOADER: loader({ get: broken, load: broken }) }],
	["if both take too long", { LOADER: loader({ get: hanging, load: hanging }) }],
	["if the compiler isn't deployed", NOT_DEPLOYED],
	["if the runtime has none", { LOADER: undefined }],
])("%s, the files are stored without an error, and the capabilities stay", async (_, bindings) => {
	const log = vi.spyOn(console, "error").mockImplementation(() => {});
	const { write } = await plugin();
	const { body: before } = await write({ "index.js": MAIN });
	const files = { "index.js": "export function processEvent() {}", "plugin.json": "{}" };
	const { status, body } = await withoutPatience(() => write(files, bindings));
	expect(status).toBe(200);
	expect(body).toMatchObject({ files, errors: {}, capabilities: before.capabilities });
	expect(log).toHaveBeenCalledWith(expect.stringContaining('"part":"compiler"'));
	log.mockRestore();
});

test("a file that the compiler failed to compile is compiled when it is used", async () => {
	const log = vi.spyOn(console, "error").mockImplementation(() => {});
	const { id, path, project, write, here, ask } = await plugin();
	const configs = `/api/projects/${project}/plugin_configs`;
	const files = { "index.js": MAIN, "frontend.tsx": "export const scene: object = <p>Hi</p>" };
	await write(files, NOT_DEPLOYED);
	log.mockRestore();
	expect((await here("GET", `${path}/source`)).body.errors).toEqual({});
	const { body: config } = await ask("POST", configs, { body: { plugin: id, order: 1 } });
	const frontend = await ask("GET", `${configs}/${config.id}/frontend.js`);
	expect(frontend).toMatchObject({
		status: 200,
		body: expect.stringContaining("React.createElement"),
	});
});

/** What the schedule does for plugins that wait for the compiler. */
const tick = (at = Date.now(), bindings: object = {}) => compileDue({ ...env, ...bindings }, at);

const MINUTE = 60_000;

describe("source that was saved while the compiler was down", () => {
	const capabilities = { methods: ["onEvent"], jobs: ["retry"] };
	const files = { "index.js": MAIN, "frontend.tsx": "export const a: object = <p/>" };

	beforeEach(async () => {
		// A tick compiles only a few plugins.
		await db.update(plugins).set({ compile_at: null });
		const log = vi.spyOn(console, "error").mockImplementation(() => {});
		onTestFinished(() => log.mockRestore());
	});

	/** What is stored: which files have output, and the capabilities. */
	const stored = async ({ id, path, here }: Awaited<ReturnType<typeof plugin>>) => {
		const rows = await db.select().from(sourceFiles).where(eq(sourceFiles.plugin_id, id));
		const { body } = await here("GET", path);
		return {
			compiled: rows.flatMap(({ filename, compiled }) => (compiled ? [filename] : [])).sort(),
			capabilities: body.capabilities,
			changed: [body.updated_at, rows.map(({ updated_at }) => updated_at)],
		};
	};

	test("is compiled and read by the next tick, in which nobody changes the plugin", async () => {
		const one = await plugin();
		await one.write(files, NOT_DEPLOYED);
		const before = await stored(one);
		expect(before).toMatchObject({ compiled: [], capabilities: { methods: ["onEvent"] } });
		const { body: log } = await one.here("GET", "/activity_log");
		await worker.scheduled(createScheduledController({ cron: "* * * * *" }), env);
		expect(await stored(one)).toEqual({
			...before,
			compiled: ["frontend.tsx", "index.js"],
			capabilities,
		});
		expect((await one.here("GET", "/activity_log")).body.count).toBe(log.count);
	});

	test("that doesn't compile gets its error, and keeps its capabilities", async () => {
		const one = await plugin();
		await one.write({ "index.js": "const = 5" }, NOT_DEPLOYED);
		await tick();
		const { body } = await one.here("GET", `${one.path}/source`);
		expect(body.errors).toEqual({ "index.js": expect.stringContaining("Unexpected token") });
		expect(body.capabilities).toEqual({ methods: ["onEvent"] });
	});

	test("waits longer after each tick in which the compiler is still down", async () => {
		const one = await plugin();
		await one.write(files, NOT_DEPLOYED);
		const at = Date.now();
		const compile = vi.fn(broken);
		const LOADER = loader({ get: compile, load: compile });
		const tried: number[] = [];
		for (let minute = 0; minute <= 8; minute++) {
			compile.mockClear();
			await tick(at + minute * MINUTE + 1000, { LOADER });
			if (compile.mock.calls.length > 0) tried.push(minute);
		}
		expect(tried).toEqual([0, 1, 3, 7]);
		await tick(at + 3 * 24 * 60 * MINUTE);
		expect(await stored(one)).toMatchObject({ capabilities });
	});

	test("isn't read if the capabilities were set by hand since, but still compiled when it is used", async () => {
		const one = await plugin();
		await one.write(files, NOT_DEPLOYED);
		const byHand = { jobs: ["mine"] };
		await one.here("PATCH", one.path, { body: { capabilities: byHand } });
		await tick();
		expect(await stored(one)).toMatchObject({ capabilities: byHand });
	});

	test("doesn't replace capabilities that were set by hand if only another file waits", async () => {
		const one = await plugin();
		await one.write({ "index.js": MAIN });
		const byHand = { jobs: ["mine"] };
		await one.here("PATCH", one.path, { body: { capabilities: byHand } });
		await one.write({ "frontend.tsx": files["frontend.tsx"] }, NOT_DEPLOYED);
		await tick();
		expect(await stored(one)).toMatchObject({
			compiled: ["frontend.tsx", "index.js"],
			capabilities: byHand,
		});
	});

	test("gives way to what is saved or set while a tick compiles it", async () => {
		const [saved, set] = [await plugin(), await plugin()];
		for (const { write } of [saved, set]) await write(files, NOT_DEPLOYED);
		const byHand = { jobs: ["mine"] };
		const get: WorkerLoader["get"] = (name, getCode) => {
			const compiler = env.LOADER.get(name, getCode).getEntrypoint<Compiler>();
			return Object.assign(Object.create(null), {
				getEntrypoint: () => ({
					compile: async (sources: Parameters<Compiler["compile"]>[0]) => {
						await saved.write({ "index.js": "export function processEvent() {}" });
						await set.here("PATCH", set.path, { body: { capabilities: byHand } });
						return compiler.compile(sources);
					},
				}),
			});
		};
		await tick(Date.now(), { LOADER: loader({ get }) });
		expect(await stored(set)).toMatchObject({ compiled: [], capabilities: byHand });
		expect(await stored(saved)).toMatchObject({
			compiled: ["index.js"],
			capabilities: { methods: ["processEvent"] },
		});
		await tick(Date.now() + MINUTE);
		expect(await stored(saved)).toMatchObject({
			compiled: ["frontend.tsx", "index.js"],
			capabilities: { methods: ["processEvent"] },
		});
	});

	test("is read although the main file is another one, because the first was deleted", async () => {
		const one = await plugin();
		await one.write({ "index.js": MAIN, "index.ts": "export function processEvent() {}" });
		await one.write({ "index.ts": null }, NOT_DEPLOYED);
		await tick();
		expect(await stored(one)).toMatchObject({ compiled: ["index.js"], capabilities });
	});
});

test("the compiler's own file is not sent to clients", async () => {
	const { status } = await exports.default.fetch("https://example.com/compiler/worker.js");
	expect(status).toBe(404);
});
