/** Everything that can be said about the code without running it. Stops at the first that fails. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { findWrongImports } from "./imports.ts";
import { findDeadReferences } from "./references.ts";
import { fail, run } from "./run.ts";

/** Generous: Workers allow 3 MiB (free) and 10 MiB, but a small worker starts sooner. */
const MOST_KIB = 400;

const GENERATED = [
	"migrations",
	"worker-configuration.d.ts",
	"public/openapi.json",
	"src/exporter/query/query.parser.js",
];

const say = (title: string, command: string, ...words: string[]) => {
	console.log(`· ${title}`);
	return run(command, ...words);
};

const files = (path: string): string[] =>
	statSync(path).isDirectory()
		? readdirSync(path).flatMap((name) => files(`${path}/${name}`))
		: [path];

const generated = () =>
	new Map(GENERATED.flatMap(files).map((path) => [path, readFileSync(path, "utf8")]));

say("lint and format", "biome", "ci");

const before = generated();
say("generated files", "npm", "run", "generate");
const stale = [...generated()]
	.filter(([path, text]) => before.get(path) !== text)
	.map(([path]) => path);
if (stale.length > 0) fail(`These were stale; now they are made anew: ${stale.join(", ")}`);

say("types", "tsc", "-p", ".");

const bundled = say(
	"bundle",
	"wrangler",
	"deploy",
	"--dry-run",
	"--env=",
	"--minify",
	"--metafile=dist/metafile.json",
	"--outdir",
	"dist",
);
/** Ends the check if there is anything to complain about. */
const refuse = (title: string, complaints: string[]) => {
	console.log(`· ${title}`);
	if (complaints.length > 0) fail(complaints.join("\n"));
};

refuse("imports point one way", findWrongImports("dist/metafile.json"));
refuse("references to the documentation", findDeadReferences());

const kib = Number(/gzip: ([\d.]+) KiB/.exec(bundled)?.[1]);
if (!(kib < MOST_KIB)) fail(`The bundle is ${kib} KiB (gzip); at most ${MOST_KIB} are wanted.`);
console.log(`  ${kib} KiB (gzip) of ${MOST_KIB}`);
