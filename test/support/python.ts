import { execFile } from "node:child_process";
import { existsSync, renameSync, rmSync } from "node:fs";
import { promisify } from "node:util";

/** Readers and writers of Parquet, from PyPI. */
const PACKAGES = ["duckdb==2.0.0", "pyarrow==26.0.1", "polars==2.1.0"];

const VENV = `${import.meta.dirname}/../../node_modules/.cache/${PACKAGES.join("+")}`;

const execute = promisify(execFile);

/** The path of a Python with DuckDB, pyarrow and polars, installed once for each checkout. Null if they can't be installed. */
export async function python() {
	const interpreter = `${VENV}/bin/python`;
	if (existsSync(VENV)) return interpreter;
	// Under another name until it is complete.
	const draft = `${VENV}-${process.pid}`;
	try {
		await execute("python3", ["-m", "venv", draft]);
		await execute(`${draft}/bin/python`, [
			...["-m", "pip", "install", "--retries=1", "--timeout=60"],
			...["--only-binary=:all:", ...PACKAGES],
		]);
		renameSync(draft, VENV);
	} catch {
		rmSync(draft, { recursive: true, force: true });
	}
	return existsSync(VENV) ? interpreter : null;
}
