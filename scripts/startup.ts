/**
 * Finds the code that the worker evaluates when an isolate starts, and measures how long this
 * takes. The rest of the bundle is behind `import()`, and evaluated when it is first used
 * (docs/internals/architecture.md#what-is-loaded-when).
 */
import { gzipSync } from "node:zlib";
import { build, type Metafile, type Plugin } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { lowerMean, shuffled } from "../bench/table.ts";

const root = `${import.meta.dirname}/..`;

/** Leaves out the modules that `import()` loads. */
const onlyStatic: Plugin = {
	name: "only-static",
	setup: ({ onResolve }) =>
		onResolve({ filter: /./ }, ({ path, kind }) =>
			kind === "dynamic-import" ? { path, external: true } : undefined,
		),
};

/** Bundles TypeScript to one minified module, as wrangler does. */
async function bundle(contents: string, plugins: Plugin[] = []) {
	const { outputFiles, metafile } = await build({
		stdin: { contents, resolveDir: `${root}/src`, loader: "ts" },
		absWorkingDir: root,
		bundle: true,
		write: false,
		metafile: true,
		minify: true,
		format: "esm",
		target: "es2024",
		platform: "browser",
		conditions: ["workerd", "worker", "browser"],
		external: ["node:*", "cloudflare:*"],
		plugins,
	});
	return { text: outputFiles[0]?.text ?? "", metafile };
}

/**
 * Returns the matches of `pattern` in the paths of a bundle's files, sorted and without duplicates.
 */
const namesIn = ({ outputs }: Metafile, pattern: RegExp) => {
	const paths = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
	const names = paths.map((path) => pattern.exec(path)?.[1] ?? []);
	return [...new Set(names.flat())].sort();
};

/**
 * Bundles the part that is evaluated when an isolate starts. Returns its script, its compressed
 * size in KiB, its npm packages and its schema files.
 */
export async function startPart() {
	const { text, metafile } = await bundle(
		'export * from "./worker.ts"; export { default } from "./worker.ts";',
		[onlyStatic],
	);
	return {
		script: text,
		kib: gzipSync(text).length / 1024,
		packages: namesIn(metafile, /.*node_modules\/((?:@[^/]+\/)?[^/]+)/),
		tables: namesIn(metafile, /^src\/db\/schema\/(?!columns)(\w+)/),
	};
}

/**
 * Finds everything in a script that makes isolates start slowly, apart from the code that is
 * evaluated.
 * @param script the bundled worker
 */
export function findSlowness(script: string): string[] {
	const modules = [...script.matchAll(/import(?:[\w$*{},\s]+from)?"((?!cloudflare:)[^"]+)";/g)];
	const characters = [...script.matchAll(/.{0,40}[^\0-\x7f].{0,40}/g)];
	return [
		...modules.map(
			([, name]) =>
				`${name} is loaded when an isolate starts. See docs/internals/architecture.md#what-is-loaded-when.`,
		),
		...characters.map(
			([text]) =>
				`A non-ASCII character makes V8 store two bytes for each character of the script. Escape it: ${text}`,
		),
	];
}

/** The smallest worker with the same framework. */
const EMPTY = 'import { Hono } from "hono"; export default new Hono().get("/", (c) => c.json({}));';

/**
 * Starts an isolate of one of `scripts` for each request, and returns the response of its route /.
 */
const host = (scripts: Record<string, string>) => `
const scripts = ${JSON.stringify(scripts)};
export default {
	async fetch(request, { LOADER }) {
		const { pathname } = new URL(request.url);
		return LOADER.load({
			compatibilityDate: "2026-08-01",
			compatibilityFlags: ["nodejs_compat"],
			mainModule: "worker.js",
			modules: { "worker.js": scripts[pathname.slice(1)] },
			env: { LOG_REQUESTS: "false", CORS_ORIGINS: "" },
		}).getEntrypoint().fetch("http://localhost/");
	},
};`;

const ROUNDS = 50;

/**
 * Measures how long a new isolate takes until its first response, for the worker and for an empty
 * worker.
 * @param script the bundled worker
 * @returns means of the lower half of the rounds, in milliseconds. Only their ratio is meaningful.
 */
export async function startTimes(script: string) {
	const empty = (await bundle(EMPTY)).text;
	const miniflare = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			compatibilityDate: "2026-08-01",
			modules: true,
			script: host({ worker: script, empty }),
			workerLoaders: { LOADER: {} },
		}),
	);
	try {
		const url = await miniflare.ready;
		const measure = async (name: string) => {
			const began = performance.now();
			const response = await fetch(new URL(name, url));
			if (!response.ok)
				throw new Error(`${name} returned ${response.status}: ${await response.text()}`);
			await response.arrayBuffer();
			return performance.now() - began;
		};
		const times: { worker: number[]; empty: number[] } = { worker: [], empty: [] };
		for (let i = 0; i < ROUNDS; i++)
			for (const name of shuffled(["worker", "empty"] as const))
				times[name].push(await measure(name));
		return { worker: lowerMean(times.worker), empty: lowerMean(times.empty) };
	} finally {
		await miniflare.dispose();
	}
}
