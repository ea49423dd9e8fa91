/**
 * Builds the parser of queries, and what is made from the code of the API: public/openapi.json and
 * public/operations.json, and from these the code of the client, the command line and the forms of destinations. None of it is
 * tracked; docs/contract.txt is (build/contract.ts).
 */
import { readFileSync } from "node:fs";
import peggy from "peggy";
import { buildOutdated, write } from "./files.ts";
import { run } from "./run.ts";

const root = `${import.meta.dirname}/..`;

/** The grammar of queries, without its extension. */
const QUERY = "src/exports/query/query";

/** The sources of the files. */
const SOURCES = [
	"src",
	"build/openapi",
	"build/client",
	"build/openapi.ts",
	"build/client.ts",
	"build/cli.ts",
	"build/destinations.ts",
	"packages/client/src/operation.ts",
	"packages/cli/src/table.ts",
	"packages/console/src/pages/batch_exports/destinations.ts",
	"package.json",
	"package-lock.json",
];

const BUILT = [
	"public/openapi.json",
	"public/operations.json",
	"packages/client/src/generated.ts",
	"packages/cli/src/generated.ts",
	"packages/console/src/generated.ts",
	"packages/console/src/generated_settings.ts",
];

/** Builds the parser, which the code of the API imports. It is only written if it differs. */
function buildParser() {
	const grammar = readFileSync(`${root}/${QUERY}.peggy`, "utf8");
	write(`${QUERY}.parser.js`, peggy.generate(grammar, { output: "source", format: "es" }));
}

function build() {
	// The document comes first, because the others read it.
	for (const name of ["openapi", "client", "cli", "destinations"])
		run("node", `${root}/build/${name}.ts`);
}

/**
 * Builds the files if they are outdated, or `always`. It takes seconds, because it loads all of the
 * service.
 */
export function buildApi(always = false) {
	buildParser();
	buildOutdated(BUILT, SOURCES, build, always);
}

if (import.meta.main) buildApi(process.argv.includes("--always"));
