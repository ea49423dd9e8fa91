/** Bundles the command line into one file, dist/tenantry.js, for Node 20.3 and newer. */
import { readdirSync, renameSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const output = here("dist/tenantry.js");

const files = (folder) => readdirSync(folder).map((name) => `${folder}/${name}`);
const sources = () => [
	...files(here("src")),
	...files(here("../client/src")),
	here("package.json"),
	here("build.js"),
];

const age = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

export async function build() {
	const { build } = await import("esbuild");
	const draft = `${output}.${process.pid}`;
	await build({
		entryPoints: [here("src/main.ts")],
		outfile: draft,
		bundle: true,
		platform: "node",
		format: "esm",
		target: "node20",
		// Commander is a CommonJS module, which calls `require`.
		banner: {
			js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
		},
		legalComments: "none",
		logLevel: "warning",
	});
	renameSync(draft, output);
}

/** Builds the file if a source is newer. */
export async function buildIfNeeded() {
	if (Math.max(...sources().map(age)) > age(output)) await build();
}

if (process.argv[1] === here("build.js")) await build();
