/**
 * `npm run fuzz`: Schemathesis tests the service against its OpenAPI document, on a real server
 * with its own, populated state. `--max-examples N` sets how many requests it tries for each
 * operation, `--seed N` selects other random values, `--quick` is a short run for CI; other options
 * are passed to Schemathesis. It needs Python 3.10 or newer and, for the first run, a Python
 * package index. The command fails on any failure that judges/fuzz/expected.toml doesn't list.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { environment, fail, run } from "../../build/run.ts";
import { serveNew } from "../kept_server.ts";
import { judged } from "./document.ts";
import { populate } from "./world.ts";

const root = `${import.meta.dirname}/../..`;
const settings = `${root}/judges/fuzz`;
const venv = `${root}/node_modules/.cache/schemathesis`;

/** Installs the versions in judges/fuzz/requirements.txt, unless they are installed. */
function install() {
	const requirements = readFileSync(`${settings}/requirements.txt`, "utf8");
	const mark = `${venv}/requirements.txt`;
	if (existsSync(mark) && readFileSync(mark, "utf8") === requirements) return;
	if (spawnSync("python3", ["--version"]).status !== 0)
		fail("npm run fuzz needs Python 3.10 or newer as `python3`.");
	console.log("Installing Schemathesis…");
	rmSync(venv, { recursive: true, force: true });
	run("python3", "-m", "venv", venv);
	run(
		`${venv}/bin/python`,
		...["-m", "pip", "install", "--quiet", "--disable-pip-version-check"],
		...["--requirement", `${settings}/requirements.txt`],
	);
	writeFileSync(mark, requirements);
}

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

install();
const { url, owner, work } = await serveNew("fuzz");
console.log("Creating objects…");
const document: unknown = await (await fetch(`${url}/openapi.json`)).json();
const world = await populate(url, document, owner);
writeFileSync(`${work}/openapi.json`, JSON.stringify(judged(document, world), null, 2));
const judge = spawn(
	`${venv}/bin/schemathesis`,
	[
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
