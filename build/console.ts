/**
 * Builds the files of the console from packages/console
 * (docs/internals/architecture.md#the-console).
 */
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const root = resolve(import.meta.dirname, "..");
const sources = "packages/console/src";

type Output = {
	/** The path below `public/`. */
	path: string;
	text: string;
	/** The source file of the entry point, such as a page. */
	entry: string | undefined;
	/** The files that it imports statically, without those of `import()`. */
	imports: string[];
};

/**
 * Bundles the console: a main script, a style sheet, and a script for each page, which is loaded
 * when the page is opened. Names contain content hashes.
 */
function bundleConsole(): Output[] {
	const { outputFiles, metafile } = buildSync({
		absWorkingDir: root,
		entryPoints: [`${sources}/main.tsx`, `${sources}/styles/main.css`],
		bundle: true,
		splitting: true,
		minify: true,
		format: "esm",
		target: "es2022",
		jsx: "automatic",
		jsxImportSource: "preact",
		alias: {
			"tenantry-client": `${root}/packages/client/src/index.ts`,
			"tenantry-event-words": `${root}/src/activity/events/words.ts`,
			"tenantry-file-names": `${root}/src/exports/destinations/files/names.ts`,
			"tenantry-subjects": `${root}/src/exports/destinations/roles/subjects.ts`,
			"tenantry-query": `${root}/src/exports/query/parse.ts`,
			"tenantry-user-agent": `${root}/src/lib/user_agent.ts`,
		},
		outdir: "public/console/assets",
		entryNames: "[name].[hash]",
		chunkNames: "[name].[hash]",
		legalComments: "none",
		logLevel: "warning",
		metafile: true,
		write: false,
	});
	const below = (path: string) => relative(`${root}/public`, resolve(root, path));
	return outputFiles.map(({ path, text }) => {
		const { entryPoint, imports } = metafile.outputs[relative(root, path)] ?? {};
		return {
			path: below(path),
			text,
			// Another folder, if this one is a symbolic link to the sources.
			entry: entryPoint?.slice(entryPoint.indexOf(sources)),
			imports: (imports ?? [])
				.filter(({ kind }) => kind === "import-statement")
				.map(({ path }) => below(path)),
		};
	});
}

/** Returns a file and all files that it imports statically. */
function withImports(bundle: Output[], path: string, found = new Map<string, Output>()) {
	const file = bundle.find((file) => file.path === path);
	if (file && !found.has(path)) {
		found.set(path, file);
		for (const imported of file.imports) withImports(bundle, imported, found);
	}
	return found;
}

const entryOf = (bundle: Output[], source: string) => {
	const file = bundle.find(({ entry }) => entry === `${sources}/${source}`);
	if (!file) throw new Error(`The console has no file ${source}.`);
	return file.path;
};

/** Returns the files that every page loads. */
const shellOf = (bundle: Output[]) =>
	["main.tsx", "styles/main.css"].reduce(
		(found, source) => withImports(bundle, entryOf(bundle, source), found),
		new Map<string, Output>(),
	);

/** Returns the files of the console, by path below `public/`. */
export function consoleFiles() {
	const bundle = bundleConsole();
	const main = entryOf(bundle, "main.tsx");
	const style = entryOf(bundle, "styles/main.css");
	// Otherwise, a browser would find the imports of the script only after loading it.
	const preloads = [...shellOf(bundle).keys()]
		.filter((path) => path !== main && path !== style)
		.map((path) => `<link rel="modulepreload" href="/${path}">`);
	const page = readFileSync(`${root}/${sources}/index.html`, "utf8")
		.replace("{main.css}", `/${style}`)
		.replace("{main.js}", `/${main}`)
		.replace("</head>", `${preloads.join("\n")}\n</head>`);
	return new Map([
		...bundle.map(({ path, text }) => [path, text] as const),
		["console/assets/icon.svg", readFileSync(`${root}/build/docs/icon.svg`, "utf8")] as const,
		["console/index.html", page] as const,
	]);
}

const kib = (files: Iterable<Output>) =>
	[...files].reduce((sum, { text }) => sum + gzipSync(text).length, 0) / 1024;

/**
 * Returns the compressed size of each page in KiB if it is opened first, with the shell. The
 * largest page comes first.
 */
export function pageSizes() {
	const bundle = bundleConsole();
	const pages = `${sources}/pages/`;
	return bundle
		.filter(({ entry }) => entry?.startsWith(pages))
		.map(({ path, entry = "" }) => ({
			page: entry.slice(pages.length).replace(/\.tsx?$/, ""),
			size: kib(withImports(bundle, path, shellOf(bundle)).values()),
		}))
		.sort((a, b) => b.size - a.size);
}
