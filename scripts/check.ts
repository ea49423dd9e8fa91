/** `npm run check`: static checks of the code, side by side. Ends at the first that fails. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { buildAssets } from "../build/assets.ts";
import { changesSinceMain } from "../build/breaking.ts";
import { bundle } from "../build/bundle.ts";
import { pageSizes } from "../build/console.ts";
import { changedFiles, textBefore } from "../build/files.ts";
import { fail, runAside } from "../build/run.ts";
import { findDatabaseUses } from "./check/database_uses.ts";
import { findWritesPastDoors } from "./check/doors.ts";
import { findWrongImports } from "./check/imports.ts";
import { findDeadReferences } from "./check/references.ts";
import { findBacktracking } from "./check/regexps.ts";
import { findSlowness, startPart } from "./check/startup.ts";

/**
 * The maximum compressed size of the code that is evaluated when an isolate starts, which delays
 * the first response.
 */
const MAX_START_KIB = 83;

/**
 * The maximum compressed size of the rest, which includes the families with the descriptions of
 * their operations and fields (38 KiB). A new isolate reads it, too. Workers allow 3 MiB (free) or
 * 10 MiB in total.
 */
const MAX_REST_KIB = 573;

/** The maximum minified and compressed size of the client. */
const MAX_CLIENT_KIB = 6.7;

/** The maximum compressed size of the console's first page: its scripts and the style sheet. */
const MAX_PAGE_KIB = 80;

const TYPES = "node_modules/.cache/types.tsbuildinfo";

const GENERATED = ["migrations", "worker-configuration.d.ts", "docs/contract.txt"];

/** Returns the minified and compressed size of the client in KiB. */
async function clientKib() {
	const { outputFiles } = await build({
		entryPoints: ["packages/client/src/index.ts"],
		bundle: true,
		minify: true,
		format: "esm",
		target: "es2022",
		write: false,
	});
	return outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0) / 1024;
}

/** Prints the title of a check when it is done, and the lines that it returns. */
async function check(title: string, action: () => Promise<string[] | string> | string[]) {
	const lines = [await action()].flat();
	console.log(`· ${title}`);
	for (const line of lines) console.log(`  ${line}`);
}

const command = (title: string, program: string, ...words: string[]) =>
	check(title, () => runAside(program, ...words).then(() => []));

/** Ends the script if `find` returns complaints. */
const search = (title: string, find: () => string[]) =>
	check(title, () => {
		const complaints = find();
		return complaints.length > 0 ? fail(complaints.join("\n")) : [];
	});

/** Returns the size of a part in KiB, in words. Ends the script if it isn't below the limit. */
function limit(part: string, size: number, max: number) {
	const line = `${size.toFixed(1)} KiB (gzip) ${part}; the limit is ${max} KiB`;
	return size < max ? line : fail(`${line}.`);
}

const files = (path: string): string[] =>
	statSync(path).isDirectory()
		? readdirSync(path).flatMap((name) => files(`${path}/${name}`))
		: [path];

const textsOf = (paths: string[]) =>
	new Map(paths.flatMap(files).map((path) => [path, readFileSync(path, "utf8")]));

async function generate() {
	const before = textsOf(GENERATED);
	await runAside("npm", "run", "generate");
	const stale = [...textsOf(GENERATED)].filter(([path, text]) => before.get(path) !== text);
	if (stale.length > 0)
		fail(
			`These files were out of date, and were regenerated: ${stale.map(([path]) => path).join(", ")}`,
		);
	const breaking = changesSinceMain();
	return breaking.length > 0
		? ["These changes of the API would break clients:", ...breaking]
		: breaking;
}

async function buildClient() {
	await runAside("npm", "run", "build", "--workspace=tenantry-client");
	return limit("tenantry-client", await clientKib(), MAX_CLIENT_KIB);
}

async function buildPages() {
	buildAssets();
	const [largest] = pageSizes();
	if (!largest) fail("The console has no pages.");
	return limit(`as the first page: ${largest.page}, the largest`, largest.size, MAX_PAGE_KIB);
}

async function buildBundle() {
	const script = readFileSync(bundle("dist").script, "utf8");
	const slowness = findSlowness(script);
	if (slowness.length > 0) fail(slowness.join("\n"));
	const { kib, packages } = await startPart();
	const all = gzipSync(script).length / 1024;
	return [
		limit("evaluated at start", kib, MAX_START_KIB),
		limit("loaded when first used", all - kib, MAX_REST_KIB),
		`packages evaluated at start: ${packages.join(", ")}`,
	];
}

// The other checks read the files that these write.
await check("generated files", generate);
await check("client", buildClient);
await Promise.all([
	command("lint and format", "biome", "ci"),
	// The results of unchanged files are kept.
	command("types", "tsc", "-p", ".", "--incremental", "--tsBuildInfoFile", TYPES),
	command("types of the console", "tsc", "-p", "packages/console"),
	command("OpenAPI document", "redocly", "lint", "--config=redocly.yaml", "public/openapi.json"),
	search("import order", findWrongImports),
	search("D1 without the guard", findDatabaseUses),
	search("keys and memberships written elsewhere", findWritesPastDoors),
	search("references to the documentation", findDeadReferences),
	search("new regular expressions", () => findBacktracking(changedFiles(), textBefore)),
	check("documentation and console", buildPages),
	check("bundle", buildBundle),
]);
