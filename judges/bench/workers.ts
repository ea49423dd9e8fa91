/**
 * Runs workers on workerd, with local simulators of D1, KV and the rate limiter, and without a
 * proxy.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { readD1Migrations } from "@cloudflare/vitest-plugin";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { unstable_readConfig } from "wrangler";
import { buildApi } from "../../build/api.ts";
import { bundle, bundleReadably, minify } from "../../build/bundle.ts";
import { cpuOf, workersOf } from "./processes.ts";

const root = `${import.meta.dirname}/../..`;

const config = unstable_readConfig({ config: `${root}/wrangler.toml` });

/** A rate limit that no benchmark reaches. */
const UNLIMITED = 1_000_000_000;

const limiter = (id: string) => ({
	namespace_id: id,
	simple: { limit: UNLIMITED, period: 60 as const },
});

const folders: string[] = [];
process.on("exit", () => {
	for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(1));

/** Creates a folder that is removed at the end, with a copy of the contents of `from`. */
export function newFolder(from?: string) {
	const folder = mkdtempSync(`${tmpdir()}/tenantry-bench-`);
	folders.push(folder);
	if (from) cpSync(from, folder, { recursive: true });
	return folder;
}

/** The file of this service's worker. */
export const SERVICE = `${root}/src/worker.ts`;

/**
 * Bundles a worker, with `measured` of judges/bench/harness.ts around it.
 * @param path the file with the worker
 * @param form bundled as for a deployment, only minified, or readable, with comments that show the
 * source files
 */
export function bundleWorker(
	path: string,
	form: "deployed" | "minified" | "readable" = "minified",
) {
	buildApi();
	const folder = newFolder();
	const wrangler = `${folder}/wrangler.json`;
	const { compatibility_date, compatibility_flags, alias, keep_names } = config;
	writeFileSync(
		`${folder}/worker.ts`,
		`import worker from "${path}";
		import { measured } from "${import.meta.dirname}/harness.ts";
		export * from "${path}";
		export default measured(worker);`,
	);
	writeFileSync(
		wrangler,
		JSON.stringify({
			name: "bench",
			main: "worker.ts",
			compatibility_date,
			compatibility_flags,
			keep_names,
			alias: Object.fromEntries(
				Object.entries(alias ?? {}).map(([name, to]) => [
					name,
					createRequire(`${root}/`).resolve(String(to)),
				]),
			),
		}),
	);
	if (form === "deployed")
		return readFileSync(bundle(`${folder}/dist`, { config: wrangler }).script, "utf8");
	const bundled = bundleReadably(`${folder}/dist`, `--config=${wrangler}`);
	return readFileSync(form === "readable" ? bundled : minify(`${folder}/dist`, bundled), "utf8");
}

type Options = {
	/** The source of the bundled worker. */
	script: string;
	/** The folder of its data. */
	state: string;
	/** Additional variables to those of wrangler.toml. */
	bindings?: Record<string, unknown>;
	/** Whether to enable V8's inspector. */
	inspect?: boolean;
};

/** Starts a worker. It ends with this process. */
export async function startWorker({ script, state, bindings = {}, inspect = false }: Options) {
	const before = workersOf(process.pid);
	const miniflare = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			compatibilityDate: config.compatibility_date ?? "",
			compatibilityFlags: config.compatibility_flags,
			modules: [{ type: "ESModule", path: "worker.js", contents: script }],
			bindings: { ...config.vars, ...bindings },
			d1Databases: { DB: "bench" },

			kvNamespaces: { KEYS: "bench" },
			resourcePersistencePath: state,
			ratelimits: { REQUESTS: limiter("1"), AUTH_FAILURES: limiter("2"), SIGN_INS: limiter("3") },
			unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
			...(inspect && { inspectorPort: 0 }),
		}),
	);
	await miniflare.ready;
	const url = await miniflare.unsafeGetDirectURL();
	const [pid] = workersOf(process.pid).filter((each) => !before.includes(each));
	return {
		url,
		/** Returns the CPU time that the worker and its simulators have used so far, in seconds. */
		cpu: () => cpuOf((process) => process.pid === pid),
		database: () => miniflare.getD1Database("DB"),
		/** Returns the size of the database, in bytes. */
		async size() {
			const database = await miniflare.getD1Database("DB");
			return (await database.prepare("select 1").all()).meta.size_after;
		},
		keys: () => miniflare.getKVNamespace("KEYS"),
		inspector: async () => Number((await miniflare.getInspectorURL()).port),
		stop: () => miniflare.dispose(),
	};
}

export type RunningWorker = Awaited<ReturnType<typeof startWorker>>;

/** Creates the tables of the service. */
export async function migrate(database: D1Database) {
	for (const { queries } of await readD1Migrations(`${root}/migrations`))
		await database.batch(queries.map((query) => database.prepare(query)));
}
