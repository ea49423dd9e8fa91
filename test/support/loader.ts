import { env } from "cloudflare:workers";

/** The worker's LOADER, except for these functions. */
export const loader = (functions: Partial<WorkerLoader>): WorkerLoader => ({
	get: (name, getCode) => env.LOADER.get(name, getCode),
	load: (code) => env.LOADER.load(code),
	...functions,
});

/** Returns a worker whose isolate ends when `method` is called. */
export const ending = (method: string) => () =>
	env.LOADER.load({
		compatibilityDate: "2026-08-01",
		mainModule: "worker.js",
		modules: {
			"worker.js": `import { WorkerEntrypoint } from "cloudflare:workers";
			export default class extends WorkerEntrypoint { ${method}() { this.ctx.abort("It ended."); } }`,
		},
	});
