/** `npm run check`: static checks of the code. Stops at the first check that fails. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { buildAssets } from "./assets.ts";
import { changesSinceMain } from "./breaking.ts";
import { bundle } from "./bundle.ts";
import { pageSizes } from "./console.ts";
import { findDatabaseUses } from "./database_uses.ts";
import { findWrongImports } from "./imports.ts";
import { findDeadReferences } from "./references.ts";
import { findBacktracking } from "./regexps.ts";
import { fail, run } from "./run.ts";
import { findSlowness, startPart, startTimes } from "./startup.ts";

/**
 * The maximum compressed size of the code that is evaluated when an isolate starts, which delays
 * the first response.
 */
const MAX_START_KIB = 79;

/**
 * The maximum compressed size of the rest, which includes the families. A new isolate reads it,
 * too. Workers allow 3 MiB (free) or 10 MiB in total.
 */
const MAX_REST_KIB = 430;

/** The maximum minified and compressed size of the client. */
const MAX_CLIENT_KIB = 6;

/** The maximum compressed size of the console's first page: its scripts and the style sheet. */
const MAX_PAGE_KIB = 80;

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

const check = (title: string, command: string, ...words: string[]) => {
	console.log(`· ${title}`);
	return run(command, ...words);
};

const files = (path: string): string[] =>
	statSync(path).isDirectory()
		? readdirSync(path).flatMap((name) => files(`${path}/${name}`))
		: [path];

const generated = () =>
	new Map(GENERATED.flatMap(files).map((path) => [path, readFileSync(path, "utf8")]));

check("lint and format", "biome", "ci");

const before = generated();
check("generated files", "npm", "run", "generate");
const stale = [...generated()]
	.filter(([path, text]) => before.get(path) !== text)
	.map(([path]) => path);
if (stale.length > 0)
	fail(`These files were out of date, and were regenerated: ${stale.join(", ")}`);

const breaking = changesSinceMain();
if (breaking.length > 0)
	console.log(`  These changes of the API would break clients:\n  ${breaking.join("\n  ")}`);

check("OpenAPI document", "redocly", "lint", "--config=redocly.yaml", "public/openapi.json");

check("types", "tsc", "-p", ".");
check("types of the console", "tsc", "-p", "packages/console");

console.log("· documentation and console");
buildAssets();

const [largest] = pageSizes();
if (!largest) fail("The console has no pages.");

console.log("· bundle");
const bundled = bundle("dist");
const script = readFileSync(bundled.script, "utf8");

/** Prints the title of a check, and ends the script if there are complaints. */
const failOn = (title: string, complaints: string[]) => {
	console.log(`· ${title}`);
	if (complaints.length > 0) fail(complaints.join("\n"));
};

failOn("import order", findWrongImports());
failOn("D1 without the guard", findDatabaseUses());
failOn("references to the documentation", findDeadReferences());
failOn("regular expressions", findBacktracking());
failOn("start of isolates", findSlowness(script));

/** Prints the size of a part in KiB, and ends the script if it isn't below the limit. */
function limit(part: string, size: number, max: number) {
	const line = `${size.toFixed(1)} KiB (gzip) ${part}; the limit is ${max} KiB`;
	if (!(size < max)) fail(`${line}.`);
	console.log(`  ${line}`);
}

console.log("· pages of the console");
limit(`as the first page: ${largest.page}, the largest`, largest.size, MAX_PAGE_KIB);

check("client", "npm", "run", "build", "--workspace=tenantry-client");
limit("tenantry-client", await clientKib(), MAX_CLIENT_KIB);

console.log("· start-up");
const { kib, packages } = await startPart();
const total = gzipSync(script).length / 1024;
const parts = [
	["evaluated at start", kib, MAX_START_KIB],
	["loaded when first used", total - kib, MAX_REST_KIB],
] as const;
for (const [part, size, max] of parts) limit(part, size, max);
console.log(`  packages evaluated at start: ${packages.join(", ")}`);
const { worker, empty } = await startTimes(script);
console.log(
	`  first response of a new isolate: ${(worker / empty).toFixed(1)} times the time of an empty Hono worker (${worker.toFixed(0)} ms, ${empty.toFixed(0)} ms)`,
);
