/**
 * Builds the parser of queries, and what is made from the code of the API: public/openapi.json and
 * public/operations.json, and from these the code of the client and the command line. None of it is
 * tracked; docs/contract.txt is (scripts/contract.ts).
 */
import { readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import peggy from "peggy";
import { write } from "./files.ts";
import { run } from "./run.ts";

const root = `${import.meta.dirname}/..`;

/** The grammar of queries, without its extension. */
const QUERY = "src/exports/engine/query/query";

/** What the files are made from. */
const SOURCES = [
	"src",
	"scripts/openapi",
	"scripts/client",
	"scripts/openapi.ts",
	"scripts/client.ts",
	"scripts/cli.ts",
	"packages/client/src/operation.ts",
	"packages/cli/src/table.ts",
	"package.json",
	"package-lock.json",
];

const BUILT = [
	"public/openapi.json",
	"public/operations.json",
	"packages/client/src/generated.ts",
	"packages/cli/src/generated.ts",
].map((path) => `${root}/${path}`);

/** When a file was last changed, or the newest file in a folder; 0 if there is none. */
function changedAt(path: string): number {
	const found = statSync(path, { throwIfNoEntry: false });
	if (!found?.isDirectory()) return found?.mtimeMs ?? 0;
	// The time of the folder itself shows that a file was removed.
	return readdirSync(path).reduce(
		(newest, name) => Math.max(newest, changedAt(`${path}/${name}`)),
		found.mtimeMs,
	);
}

/** Builds the parser, which the code of the API imports. It is only written if it differs. */
function buildParser() {
	const grammar = readFileSync(`${root}/${QUERY}.peggy`, "utf8");
	write(`${QUERY}.parser.js`, peggy.generate(grammar, { output: "source", format: "es" }));
}

function build() {
	const start = new Date();
	// The document comes first, because the others read it.
	for (const name of ["openapi", "client", "cli"]) run("node", `${root}/scripts/${name}.ts`);
	// Unchanged files aren't written, but they are as new as the sources.
	for (const path of BUILT) utimesSync(path, start, start);
}

/**
 * Builds the files if a source is newer, or `always`. It takes seconds, because it loads all of the
 * service.
 */
export function buildApi(always = false) {
	buildParser();
	const sources = Math.max(...SOURCES.map((path) => changedAt(`${root}/${path}`)));
	if (always || sources > Math.min(...BUILT.map(changedAt))) build();
}

if (import.meta.main) buildApi(process.argv.includes("--always"));
