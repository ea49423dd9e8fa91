import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { pythonWith } from "../../../test/support/python.ts";
import { Tenantry } from "../src/index.ts";

const execute = promisify(execFile);
const root = `${import.meta.dirname}/../../..`;

const PACKAGE = "openapi-python-client==0.29.1";
test("a Python client that an ordinary generator makes of the document lists organizations", async (context) => {
	const python = await pythonWith([PACKAGE]).catch(() => null);
	if (python === null) return context.skip("openapi-python-client can't be installed.");
	const folder = mkdtempSync(`${tmpdir()}/tenantry-python-`);
	try {
		await execute(python, [
			...["-m", "openapi_python_client", "generate", "--meta", "none"],
			...["--path", `${root}/public/openapi.json`, "--output-path", `${folder}/generated`],
		]);
		await execute(python, ["-m", "compileall", "-q", `${folder}/generated`]);
		cpSync(`${import.meta.dirname}/support/organizations.py`, `${folder}/organizations.py`);
		const url = inject("url");
		const key = inject("key");
		const { stdout } = await execute(python, [`${folder}/organizations.py`, ...[url, key]]);
		const { results } = await new Tenantry({ baseUrl: url, key }).organizations.list();
		expect(results.length).toBeGreaterThan(0);
		expect(stdout).toBe(results.map(({ id, name }) => `${id} ${name}\n`).join(""));
	} finally {
		rmSync(folder, { recursive: true });
	}
});
