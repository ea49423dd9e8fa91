/** Bundles the worker as it is deployed. */
import { buildSync } from "esbuild";
import { run } from "./run.ts";

/**
 * Bundles a worker with wrangler, then minifies the bundle.
 *
 * Wrangler could do both at once. But then it puts what is loaded when first used into arrow functions, and of those V8 parses
 * every statement when an isolate starts. Otherwise it puts it into methods, of which V8 only looks for the end
 * (docs/performance.md#how-a-new-isolate-starts).
 * @param folder where the files are written
 * @param options of `wrangler deploy`
 * @returns the paths of the bundle before it was minified, of the script to deploy, and of esbuild's metafile
 */
export function bundle(folder: string, ...options: string[]) {
	const readable = `${folder}/readable/worker.js`;
	const script = `${folder}/script/worker.js`;
	const metafile = `${folder}/metafile.json`;
	run(
		"wrangler",
		...["deploy", "--dry-run", `--outdir=${folder}/readable`, `--metafile=${metafile}`],
		...options,
	);
	buildSync({
		entryPoints: [readable],
		outfile: script,
		format: "esm",
		target: "es2024",
		minify: true,
		legalComments: "none",
		// Refers to the source: esbuild follows the source map of the bundle.
		sourcemap: true,
		logLevel: "error",
	});
	return { readable, script, metafile };
}
