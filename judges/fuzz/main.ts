/**
 * `npm run fuzz`: Schemathesis tests the service against its OpenAPI document, on a real server
 * with its own, populated state. `--max-examples N` sets how many requests it tries for each
 * operation, `--seed N` selects other random values, `--quick` is a short run for CI; other options
 * are passed to Schemathesis. It needs Python 3.10 or newer and, for the first run, a Python
 * package index. The command fails on any failure that judges/fuzz/expected.toml doesn't list.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { environment } from "../../build/run.ts";
import { pythonWith } from "../../test/support/python.ts";
import { serveNew } from "../kept_server.ts";
import { judged } from "./document.ts";
import { populate } from "./world.ts";

const settings = import.meta.dirname;

/** The packages that it needs are in constraints.txt. */
const SCHEMATHESIS = "schemathesis==4.32.5";

/**
 * Returns the options for Schemathesis: those of the command line, and defaults for missing ones.
 */
function options(words: string[]) {
	const quick = words.includes("--quick");
	const given = words.filter((word) => word !== "--quick");
	const defaults = {
		"--seed": "1",
		"--max-examples": quick ? "3" : "20",
		...(quick && { "--phases": "fuzzing" }),
	};
	const missing = Object.entries(defaults).filter(
		([name]) => !given.some((word) => word.split("=")[0] === name),
	);
	return [...missing.flat(), ...given];
}

console.log("Installing Schemathesis, unless it is installed…");
const python = await pythonWith([SCHEMATHESIS], ["--constraint", `${settings}/constraints.txt`]);
const { url, owner, work } = await serveNew("fuzz");
console.log("Creating objects…");
const document: unknown = await (await fetch(`${url}/openapi.json`)).json();
const world = await populate(url, document, owner);
writeFileSync(`${work}/openapi.json`, JSON.stringify(judged(document, world), null, 2));
const judge = spawn(
	python,
	[
		...["-c", "from schemathesis.cli import schemathesis; schemathesis()"],
		...["--config-file", `${settings}/schemathesis.toml`],
		...["run", `${work}/openapi.json`, "--url", url],
		...options(process.argv.slice(2)),
	],
	{
		cwd: work,
		stdio: "inherit",
		env: {
			...environment,
			PYTHONPATH: settings,
			FUZZ_KEY: owner.key,
			FUZZ_PROTECTED: JSON.stringify([
				...[world.organization, world.second, String(world.project)],
				...[world.current, "@current"],
			]),
		},
	},
);
const [code] = await once(judge, "exit");
process.exit(Number(code ?? 1));
