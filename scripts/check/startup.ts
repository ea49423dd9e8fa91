/**
 * Finds the code that the worker evaluates when an isolate starts. The rest of the bundle is behind `import()`, and evaluated when it is first used
 * (docs/internals/architecture.md#what-is-loaded-when).
 */
import { gzipSync } from "node:zlib";
import { build, type Metafile, type Plugin } from "esbuild";

const root = `${import.meta.dirname}/../..`;

/** Leaves out the modules that `import()` loads. */
const onlyStatic: Plugin = {
	name: "only-static",
	setup: ({ onResolve }) =>
		onResolve({ filter: /./ }, ({ path, kind }) =>
			kind === "dynamic-import" ? { path, external: true } : undefined,
		),
};

/** Bundles TypeScript to one minified module, as wrangler does. */
export async function bundleText(contents: string, plugins: Plugin[] = []) {
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
	const { text, metafile } = await bundleText(
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
