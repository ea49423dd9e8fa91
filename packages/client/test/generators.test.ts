/** Runs what docs/api.md says about generated clients, and calls the API with them. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { findProgram } from "../../../test/support/peers.ts";
import { pythonWith } from "../../../test/support/python.ts";
import { Tenantry } from "../src/index.ts";

const execute = promisify(execFile);
const root = `${import.meta.dirname}/../../..`;
const cache = `${root}/node_modules/.cache`;
const url = inject("url");

const docs = readFileSync(`${root}/docs/api.md`, "utf8");

/** Returns the commands of docs/api.md for a program, with the URL of this server. */
function commandsOf(program: string) {
	const blocks = [...docs.matchAll(/```sh\n(.*?)```/gs)].map(([, block = ""]) => block);
	const [commands = "", ...others] = blocks.filter((block) => block.includes(program));
	expect(others).toEqual([]);
	return commands.replaceAll("$URL", url);
}

/** Passes a copy of a folder of `support/` to `use`. */
async function withCopy(name: string, use: (folder: string) => Promise<void>) {
	mkdirSync(cache, { recursive: true });
	const folder = realpathSync(mkdtempSync(`${cache}/client-${name}-`));
	try {
		cpSync(`${import.meta.dirname}/support/${name}`, folder, { recursive: true });
		await use(folder);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

/**
 * Expects a program to have printed the caller's projects, and the export and the invite that it
 * created.
 */
async function expectObjects(printed: string, key: string, language: string) {
	const tenantry = new Tenantry({ baseUrl: url, key });
	const { results: projects } = await tenantry.projects.list();
	const [export_, ...otherExports] = (
		await tenantry.batchExports.list({ organization: "@current" })
	).results;
	const [invite, ...otherInvites] = (await tenantry.invites.list({ organization: "@current" }))
		.results;
	expect(projects.length).toBeGreaterThan(0);
	expect(printed.trimEnd().split("\n")).toEqual([
		...projects.map(({ id, name }) => `project ${id} ${name}`),
		`export ${export_?.id} From ${language} HTTP https://example.com/events`,
		`invite ${invite?.id} ${language.toLowerCase()}@example.com`,
	]);
	expect(export_).toMatchObject({ interval: "every 5 minutes", paused: true });
	expect([otherExports, otherInvites]).toEqual([[], []]);
}

test("oapi-codegen generates a Go client of all operations, which compiles and works", async (context) => {
	if (!findProgram("go")) return context.skip("Go isn't installed.");
	const commands = commandsOf("oapi-codegen");
	const [generator = ""] = /\S+\/oapi-codegen@\S+/.exec(commands) ?? [];
	const version = await execute("go", ["run", generator, "-version"]).catch(() => null);
	if (!version) return context.skip("oapi-codegen can't be installed.");
	await withCopy("go", async (cwd) => {
		mkdirSync(`${cwd}/tenantry`);
		const said = await execute("sh", ["-ec", commands], { cwd: `${cwd}/tenantry` });
		expect(said).toEqual({ stdout: "", stderr: "" });
		// Without optimizations and debug information, compiling takes two thirds of the time.
		const flags = ["-mod=readonly", "-gcflags=./...=-N -l -dwarf=false"];
		await execute("go", ["build", ...flags, "-o", "client", "."], { cwd });
		const key = inject("keys").go;
		const { stdout } = await execute(`${cwd}/client`, [url, key]);
		await expectObjects(stdout, key, "Go");
	});
});

const PYTHON_PACKAGES = ["openapi-python-client==0.29.1", "mypy==2.4.1"];

test("openapi-python-client generates a Python client of all operations, which type-checks and works", async (context) => {
	const python = await pythonWith(PYTHON_PACKAGES).catch(() => null);
	if (python === null) return context.skip("openapi-python-client can't be installed.");
	expect(docs.replaceAll("\n", " ")).toContain(`) ${PYTHON_PACKAGES[0]?.split("==")[1]}. `);
	// The generator finds the formatter that is installed with it.
	const env = { ...process.env, PATH: `${python.replace(/\/[^/]+$/, "")}:${process.env.PATH}` };
	await withCopy("python", async (cwd) => {
		// The program itself has the path of the environment's draft.
		const commands = commandsOf("openapi-python-client").replace(
			/^openapi-python-client /m,
			`${python} -m openapi_python_client `,
		);
		const said = await execute("sh", ["-ec", commands], { cwd, env });
		expect(said).toEqual({ stdout: `Generating ${cwd}/tenantry-client\n`, stderr: "" });
		cpSync(`${cwd}/tenantry-client/tenantry_client`, `${cwd}/tenantry_client`, { recursive: true });
		// client.py is the same for all documents, and has mistakes of its own.
		await execute(
			python,
			[
				...["-m", "mypy", "--follow-imports=silent", `--cache-dir=${cwd}/.mypy`],
				...["main.py", "tenantry_client/api", "tenantry_client/models"],
			],
			{ cwd, env },
		);
		const key = inject("keys").python;
		const { stdout } = await execute(python, ["main.py", url, key], { cwd, env });
		await expectObjects(stdout, key, "Python");
	});
});
