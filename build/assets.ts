/**
 * Builds all files of public/ (docs/internals/architecture.md): the OpenAPI document, the
 * documentation, the console, and the workers that run in separate isolates.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { type BuildOptions, buildSync } from "esbuild";
import { html, raw } from "hono/html";
import { buildApi } from "./api.ts";
import { consoleFiles } from "./console.ts";
import { headingsScript, operationsOf } from "./docs/headings.ts";
import {
	type Assets,
	layout,
	neighbours,
	overview,
	REFERENCE,
	tableOfContents,
} from "./docs/layout.ts";
import { readPages } from "./docs/pages.ts";
import { referencePages } from "./docs/reference.ts";
import { textsScript } from "./docs/texts.ts";
import { buildOutdated, write } from "./files.ts";

const root = `${import.meta.dirname}/..`;
const target = `${root}/public`;

/** File contents, by path below `public/`. */
type Files = Map<string, string>;

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16);

/** Adds a file with a content hash in its name. Returns its path on the site. */
function addAsset(files: Files, name: string, text: string) {
	const [stem, extension] = name.split(".");
	const file = `docs/assets/${stem}.${hashOf(text)}.${extension}`;
	files.set(file, text);
	return `/${file}`;
}

/** Bundles the search of texts for browsers. */
function finder() {
	const { outputFiles } = buildSync({
		absWorkingDir: root,
		entryPoints: ["build/docs/finder.ts"],
		bundle: true,
		minify: true,
		format: "esm",
		target: "es2023",
		charset: "utf8",
		legalComments: "none",
		write: false,
	});
	return outputFiles.map(({ text }) => text).join("");
}

function addAssets(files: Files, { headings, texts }: { headings: string; texts: string }): Assets {
	const source = (name: string) => readFileSync(`${import.meta.dirname}/docs/${name}`, "utf8");
	return {
		"style.css": addAsset(files, "style.css", source("style.css")),
		"icon.svg": addAsset(files, "icon.svg", source("icon.svg")),
		"menu.js": addAsset(files, "menu.js", source("menu.js")),
		"reference.js": addAsset(files, "reference.js", source("reference.js")),
		"search.js": addAsset(files, "search.js", source("search.js")),
		"copy.js": addAsset(files, "copy.js", source("copy.js")),
		"headings.js": addAsset(files, "headings.js", headings),
		"finder.js": addAsset(files, "finder.js", finder()),
		"texts.js": addAsset(files, "texts.js", texts),
	};
}

function addReference(
	files: Files,
	pages: ReturnType<typeof referencePages>,
	shell: ReturnType<typeof layout>,
	script: string,
) {
	for (const [i, page] of pages.entries()) {
		const main = html`${page.main}${neighbours(pages[i - 1], pages[i + 1])}`;
		const contents = tableOfContents(page.headings);
		files.set(`${page.path.slice(1)}.html`, shell({ ...page, script, contents, main }));
	}
}

function addPages(files: Files) {
	const { introduction, pages, internals } = readPages();
	const reference = referencePages();
	const guides = pages.filter(({ isInner }) => !isInner);
	const inner = [...pages.filter(({ isInner }) => isInner), ...internals];
	const searched = [...guides, ...operationsOf(reference), ...inner];
	// The texts of internal pages would be a third of the index, and few people need them.
	const withText = searched.map((page) =>
		internals.some(({ path }) => path === page.path) ? { ...page, html: "" } : page,
	);
	const assets = addAssets(files, {
		headings: headingsScript(searched),
		texts: textsScript(withText),
	});
	const [first, second, ...others] = pages;
	const entries = [first, second, REFERENCE, ...others].filter((page) => page !== undefined);
	const shell = layout(assets, entries);
	files.set(
		"docs/index.html",
		shell({ title: "Documentation", path: "/docs", main: overview(introduction, entries) }),
	);
	for (const page of [...pages, ...internals]) {
		const list = internals.includes(page) ? internals : entries;
		const i = list.findIndex(({ path }) => path === page.path);
		const main = html`<article>${raw(page.html)}</article>${neighbours(list[i - 1], list[i + 1])}`;
		const contents = tableOfContents(page.headings);
		files.set(`${page.path.slice(1)}.html`, shell({ ...page, contents, main }));
	}
	addReference(files, reference, shell, assets["reference.js"]);
	files.set(
		"docs/404.html",
		shell({
			title: "There is no such page",
			main: html`<article><h1>There is no such page</h1><p>Perhaps it was renamed. <a href="/docs">The overview</a> lists all pages.</p></article>`,
		}),
	);
}

function addConsole(files: Files) {
	for (const [path, text] of consoleFiles()) files.set(path, text);
}

/** The workers that run in separate isolates, by folder. */
const WORKERS = {
	compiler: "src/plugins/compiler/worker.ts",
	mcp: "src/mcp/server/worker.ts",
	passkeys: "src/isolates/webauthn/worker.ts",
	saml: "src/isolates/saml/worker.ts",
};

/**
 * Options for workers whose packages `require` Node.js modules. esbuild leaves these calls as they
 * are, and a module has no `require` of its own.
 */
const NODE: Record<string, BuildOptions> = {
	saml: {
		platform: "node",
		mainFields: ["browser", "module", "main"],
		banner: {
			js: 'import { createRequire } from "node:module"; const require = createRequire("/");',
		},
	},
};

function addWorkers(files: Files) {
	for (const [name, source] of Object.entries(WORKERS)) {
		const { outputFiles } = buildSync({
			absWorkingDir: root,
			entryPoints: [source],
			bundle: true,
			minify: true,
			format: "esm",
			target: "es2024",
			conditions: ["workerd", "worker", "browser"],
			define: { "process.env.NODE_ENV": '"production"' },
			external: ["cloudflare:*"],
			legalComments: "none",
			write: false,
			...NODE[name],
		});
		for (const { text } of outputFiles ?? []) files.set(`${name}/worker.js`, text);
	}
}

/** The sources of the files. */
const SOURCES = [
	"README.md",
	"CHANGELOG.md",
	"CONTRIBUTING.md",
	"SECURITY.md",
	"judges/README.md",
	"packages/client/README.md",
	"build",
	"docs",
	"packages/client/src",
	"packages/console/src",
	"src",
	"public/openapi.json",
	"package.json",
	"package-lock.json",
];

/** A file of each folder. */
const BUILT = [
	"public/docs/index.html",
	"public/console/index.html",
	...Object.keys(WORKERS).map((name) => `public/${name}/worker.js`),
];

/** Writes files that have changed, and removes those that are no longer part of the site. */
function build() {
	const files: Files = new Map();
	addPages(files);
	addConsole(files);
	addWorkers(files);
	for (const [name, text] of files) write(`public/${name}`, text);
	for (const folder of ["docs", "console", ...Object.keys(WORKERS)])
		for (const entry of readdirSync(`${target}/${folder}`, {
			recursive: true,
			withFileTypes: true,
		})) {
			const file = join(entry.parentPath, entry.name);
			if (entry.isFile() && !files.has(relative(target, file))) rmSync(file, { force: true });
		}
}

/** Builds the files if they are outdated, or `always`. */
export function buildAssets(always = false) {
	buildApi(always);
	buildOutdated(BUILT, SOURCES, build, always);
}

if (import.meta.main) buildAssets(true);
