/** Builds the files of the console from packages/console (docs/architecture.md#the-console). */
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import { destinationSettings } from "./destination_settings.ts";

const root = resolve(import.meta.dirname, "..");
const sources = "packages/console/src";

type Output = {
	/** Below `public/`. */
	path: string;
	text: string;
	/** The source that it begins with, such as a page. */
	entry: string | undefined;
	/** The files that it imports at once; not those that it may import later. */
	imports: string[];
};

/**
 * Bundles the console: a script and a style sheet for the first page, and a script for each page
 * that is opened later. Names change with contents.
 */
export function bundleConsole(): Output[] {
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
			"tenantry-file-names": `${root}/src/exporter/destinations/files/names.ts`,
			"tenantry-query": `${root}/src/exporter/query/parse.ts`,
		},
		define: { DESTINATION_SETTINGS: JSON.stringify(destinationSettings()) },
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
			// From another folder, if this one has the sources as a symbolic link.
			entry: entryPoint?.slice(entryPoint.indexOf(sources)),
			imports: (imports ?? [])
				.filter(({ kind }) => kind === "import-statement")
				.map(({ path }) => below(path)),
		};
	});
}

/** A file and all that it imports at once. */
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
	if (!file) throw new Error(`${source} is not part of the console.`);
	return file.path;
};

/** The files that every page loads. */
const shellOf = (bundle: Output[]) =>
	["main.tsx", "styles/main.css"].reduce(
		(found, source) => withImports(bundle, entryOf(bundle, source), found),
		new Map<string, Output>(),
	);

/** The files of the console, by paths below `public/`. */
export function consoleFiles() {
	const bundle = bundleConsole();
	const main = entryOf(bundle, "main.tsx");
	const style = entryOf(bundle, "styles/main.css");
	// Otherwise a browser would find what the script imports only when it has the script.
	const preloads = [...shellOf(bundle).keys()]
		.filter((path) => path !== main && path !== style)
		.map((path) => `<link rel="modulepreload" href="/${path}">`);
	const page = readFileSync(`${root}/${sources}/index.html`, "utf8")
		.replace("{main.css}", `/${style}`)
		.replace("{main.js}", `/${main}`)
		.replace("</head>", `${preloads.join("\n")}\n</head>`);
	return new Map([
		...bundle.map(({ path, text }) => [path, text] as const),
		["console/assets/icon.svg", readFileSync(`${root}/scripts/docs/icon.svg`, "utf8")] as const,
		["console/index.html", page] as const,
	]);
}

const kib = (files: Iterable<Output>) =>
	[...files].reduce((sum, { text }) => sum + gzipSync(text).length, 0) / 1024;

/** The size of each page in KiB, compressed, where it is the first that is opened: the largest first. */
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
