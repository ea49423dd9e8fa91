/** Bundles the worker for deployment. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { buildSync, type Metafile } from "esbuild";
import { unstable_readConfig } from "wrangler";
import { run } from "./run.ts";

type Outputs = Metafile["outputs"];

/** Returns the paths of a file and of all files that it loads without `import()`. */
function withImports(path: string, outputs: Outputs, found = new Set<string>()) {
	if (found.has(path)) return found;
	found.add(path);
	for (const { path: imported, kind } of outputs[path]?.imports ?? [])
		if (kind === "import-statement") withImports(imported, outputs, found);
	return found;
}

/**
 * Converts the exports of an ES module that esbuild wrote to CommonJS. They are its last statement.
 * The imports stay as they are, because bundlers support this mixture.
 */
function toCommonJs(text: string) {
	// A CommonJS package. As in Node.js, its exports are both named exports and the default export.
	const [statement, whole] = /^export default (require_\w+\(\));$/m.exec(text) ?? [];
	if (statement)
		return text.replace(
			statement,
			`module.exports = { __proto__: { __esModule: true }, ...${whole}, default: ${whole} };`,
		);
	const end = text.lastIndexOf("\nexport {\n");
	if (end < 0)
		throw new Error("esbuild wrote exports in a form that build/bundle.ts doesn't support.");
	const getters = text
		.slice(end)
		.replace("export {", "module.exports = { __proto__: { __esModule: true },")
		.replace(
			/^ {2}([\w$]+)(?: as ([\w$]+))?(?=,?$)/gm,
			(_, name, as = name) => `get ${as}() { return ${name}; }`,
		);
	return text.slice(0, end) + getters;
}

/**
 * Splits a worker into files that are evaluated when an isolate starts, and parts that `import()`
 * loads. Parts are CommonJS, because a bundler puts all of a CommonJS module into one function.
 * @param folder the folder for the files
 * @param config the path of wrangler's configuration
 * @param env the environment in the configuration
 * @returns the path of the first file, and esbuild's metafile
 */
function split(folder: string, config: string, env: string) {
	const {
		main = "",
		alias = {},
		configPath = "",
	} = unstable_readConfig({ config, ...(env && { env }) });
	const root = dirname(resolve(configPath));
	const { outputFiles, metafile } = buildSync({
		absWorkingDir: root,
		entryPoints: { worker: main },
		outdir: resolve(folder),
		bundle: true,
		splitting: true,
		format: "esm",
		// The same values as wrangler's.
		alias,
		conditions: ["workerd", "worker", "browser"],
		define: { "process.env.NODE_ENV": '"production"' },
		target: "es2024",
		// `alias` has the Node.js modules that the worker uses. Any other is an error.
		external: ["cloudflare:*"],
		legalComments: "none",
		sourcemap: "inline",
		metafile: true,
		write: false,
	});
	const first = resolve(folder, "worker.js");
	const start = withImports(relative(root, first), metafile.outputs);
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true });
	// Otherwise, the project's package.json would make all files ES modules.
	writeFileSync(`${folder}/package.json`, '{ "type": "commonjs" }');
	for (const { path, text } of outputFiles) {
		const name = relative(root, path);
		const isPart = !start.has(name) && metafile.outputs[name]?.exports.length;
		writeFileSync(path, isPart ? toCommonJs(text) : text);
	}
	return { first, metafile };
}

/**
 * Bundles a worker with wrangler, without minifying it. Comments in the bundle show the source
 * files.
 * @param folder the folder for the files
 * @param options options of `wrangler deploy`
 * @returns the path of the bundle
 */
export function bundleReadably(folder: string, ...options: string[]) {
	run("wrangler", "deploy", "--dry-run", `--outdir=${folder}/readable`, ...options);
	return `${folder}/readable/worker.js`;
}

/** Minifies a bundle, and returns the path of the script. */
export function minify(folder: string, bundled: string) {
	const script = `${folder}/script/worker.js`;
	buildSync({
		entryPoints: [bundled],
		outfile: script,
		format: "esm",
		target: "es2024",
		minify: true,
		legalComments: "none",
		// esbuild follows the source maps of the previous steps, so this one refers to the source.
		sourcemap: true,
		logLevel: "error",
	});
	return script;
}

/**
 * Bundles a worker in three steps, so that isolates read it fast when they start
 * (docs/internals/performance.md#how-a-new-isolate-starts):
 *
 * 1. esbuild splits it. Otherwise, the functions of parts that are loaded later would be outside of
 *    the part's function.
 * 2. Wrangler bundles the files.
 * 3. esbuild minifies the bundle. If wrangler did, the parts would be arrow functions, of which V8
 *    parses every statement. Now they are methods, of which V8 only finds the end.
 * @param folder the folder for the files
 * @param options wrangler's environment, and the path of its configuration
 * @returns the path of the script to deploy, and esbuild's metafile of the first step
 */
export function bundle(folder: string, { env = "", config = "wrangler.toml" } = {}) {
	const { first, metafile } = split(`${folder}/parts`, config, env);
	const bundled = bundleReadably(folder, first, `--config=${config}`, `--env=${env}`);
	return { script: minify(folder, bundled), metafile };
}
