import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { Tenantry } from "../src/index.ts";

const execute = promisify(execFile);
const root = `${import.meta.dirname}/../../..`;

const PACKAGE = "openapi-python-client==0.29.1";
const VENV = `${root}/node_modules/.cache/${PACKAGE}`;

/** Installs the generator, once for this copy of the code. False if there is no Python or no index. */
async function install() {
	if (existsSync(VENV)) return true;
	mkdirSync(`${root}/node_modules/.cache`, { recursive: true });
	// Under another name until it is complete.
	const draft = `${VENV}-${process.pid}`;
	try {
		await execute("python3", ["-m", "venv", draft]);
		await execute(`${draft}/bin/python`, [
			...["-m", "pip", "install", "--retries=1", "--timeout=60"],
			...["--only-binary=:all:", PACKAGE],
		]);
		renameSync(draft, VENV);
		return true;
	} catch {
		rmSync(draft, { recursive: true, force: true });
		return existsSync(VENV);
	}
}

test("a Python client that an ordinary generator makes of the document lists organizations", async (context) => {
	if (!(await install())) context.skip("openapi-python-client can't be installed.");
	const folder = mkdtempSync(`${tmpdir()}/tenantry-python-`);
	try {
		await execute(`${VENV}/bin/python`, [
			...["-m", "openapi_python_client", "generate", "--meta", "none"],
			...["--path", `${root}/public/openapi.json`, "--output-path", `${folder}/generated`],
		]);
		await execute(`${VENV}/bin/python`, ["-m", "compileall", "-q", `${folder}/generated`]);
		cpSync(`${import.meta.dirname}/support/organizations.py`, `${folder}/organizations.py`);
		const url = inject("url");
		const key = inject("key");
		const { stdout } = await execute(`${VENV}/bin/python`, [
			`${folder}/organizations.py`,
			...[url, key],
		]);
		const { results } = await new Tenantry({ baseUrl: url, key }).organizations.list();
		expect(results.length).toBeGreaterThan(0);
		expect(stdout).toBe(results.map(({ id, name }) => `${id} ${name}\n`).join(""));
	} finally {
		rmSync(folder, { recursive: true });
	}
});
