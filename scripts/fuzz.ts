/**
 * `npm run fuzz`: Schemathesis judges the service by its OpenAPI document, on a real server with a populated state of its
 * own. `--max-examples N` tries more of each operation, `--seed N` makes another run of it, `--quick` is a run for CI; the
 * other options are Schemathesis' own. Needs Python 3.10 or newer, and for its first run an index of Python packages.
 * Anything that test/fuzz/expected.toml doesn't list fails the command.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { judged } from "../test/fuzz/document.ts";
import { populate } from "../test/fuzz/world.ts";
import { environment, fail, run } from "./run.ts";
import { freePort, serve } from "./server.ts";

const root = `${import.meta.dirname}/..`;
const settings = `${root}/test/fuzz`;
const work = `${root}/.wrangler/fuzz`;
const venv = `${root}/node_modules/.cache/schemathesis`;
const state = `${work}/state`;

/** Installs Schemathesis as test/fuzz/requirements.txt pins it, once. */
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

/** Schemathesis' options: the caller's, and ours where the caller says nothing. */
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
rmSync(work, { recursive: true, force: true });
mkdirSync(state, { recursive: true });
environment.STATE_DIR = state;
console.log("Starting the server…");
run(
	...(["wrangler", "d1", "migrations", "apply", "DB", "--local"] as const),
	...["--persist-to", state],
);
const owner: { key: string; organization: string; project: number } = JSON.parse(
	run(
		...(["node", "scripts/admin.ts", "bootstrap"] as const),
		...["--email", "owner@example.com", "--json"],
	),
);
const { url } = await serve({
	name: "tenantry-fuzz",
	port: await freePort(),
	folder: work,
	state,
});
console.log("Populating it…");
const world = await populate(url, owner);
const document: unknown = await (await fetch(`${url}/openapi.json`)).json();
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
