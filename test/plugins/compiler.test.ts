import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { ending, loader } from "../support/loader.ts";
import { withoutPatience } from "../support/time.ts";
import { world } from "../support/world.ts";

const MAIN = "export function onEvent() {}\nexport const jobs = { retry() {} }";

/** A plugin, and a function that writes its source with other bindings. */
async function plugin() {
	const { here, ask, project } = await world();
	const { body } = await here("POST", "/pipeline_destinations", { body: {} });
	const path = `/pipeline_destinations/${body.id}`;
	const write = (files: Record<string, string>, bindings: object = {}) =>
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

test("the compiler's own file is not sent to clients", async () => {
	const { status } = await exports.default.fetch("https://example.com/compiler/worker.js");
	expect(status).toBe(404);
});
