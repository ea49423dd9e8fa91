import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { cached, cachedAt } from "./cache.ts";

const execute = promisify(execFile);

const nameOf = (packages: string[]) => packages.join("+");

/** Whether `pythonWith` has installed these packages. */
export const isPythonWith = (packages: string[]) => existsSync(cachedAt(nameOf(packages)));

/**
 * Installs packages from PyPI into a virtual environment, once for each user.
 * @param more arguments for pip, such as pinned dependencies
 * @returns the path of its Python
 * @throws `NotInstalled` if there is no Python, or no index of packages
 */
export async function pythonWith(packages: string[], more: string[] = []) {
	const reason = `${packages.join(", ")} can't be installed from PyPI`;
	const venv = await cached(nameOf(packages), reason, async (draft) => {
		await execute("python3", ["-m", "venv", draft]);
		await execute(`${draft}/bin/python`, [
			...["-m", "pip", "install", "--retries=1", "--timeout=60", "--only-binary=:all:"],
			...more,
			...packages,
		]);
	});
	return `${venv}/bin/python`;
}

/** The Python library of Standard Webhooks, published by its authors. */
export const STANDARD_WEBHOOKS = "standardwebhooks==1.1.0";

/** The test suite for SCIM servers, with its client. */
export const SCIM_TESTER = ["scim2-tester==0.5.2", "scim2-client[httpx2]==0.13.2"];

/** Packages that read and write Parquet. */
const PARQUET = ["duckdb==2.0.0", "pyarrow==26.0.1", "polars==2.1.0", "fastparquet==2026.9.0"];

let installed: Promise<string | null> | undefined;

/**
 * Returns the path of a Python with DuckDB, pyarrow, polars and fastparquet. Null if they can't be
 * installed.
 */
export const python = () => (installed ??= pythonWith(PARQUET).catch(() => null));
