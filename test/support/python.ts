import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { promisify } from "node:util";
import { NotInstalled } from "./peers.ts";

/** Not in node_modules, which `npm ci` removes. */
const CACHE = `${process.env.XDG_CACHE_HOME || `${homedir()}/.cache`}/tenantry`;

const execute = promisify(execFile);

const folderOf = (packages: string[]) => `${CACHE}/${packages.join("+")}`;

/** Whether `pythonWith` has installed these packages. */
export const isPythonWith = (packages: string[]) => existsSync(folderOf(packages));

/**
 * Installs packages from PyPI into a virtual environment, once for each user.
 * @param more arguments for pip, such as pinned dependencies
 * @returns the path of its Python
 * @throws `NotInstalled` if there is no Python, or no index of packages
 */
export async function pythonWith(packages: string[], more: string[] = []) {
	const venv = folderOf(packages);
	const interpreter = `${venv}/bin/python`;
	if (existsSync(venv)) return interpreter;
	mkdirSync(CACHE, { recursive: true });
	// Has another name until it is complete, since another run may be installing it too.
	const draft = `${venv}-${process.pid}`;
	try {
		await execute("python3", ["-m", "venv", draft]);
		await execute(`${draft}/bin/python`, [
			...["-m", "pip", "install", "--retries=1", "--timeout=60", "--only-binary=:all:"],
			...more,
			...packages,
		]);
		renameSync(draft, venv);
	} catch (error) {
		rmSync(draft, { recursive: true, force: true });
		if (!existsSync(venv))
			throw new NotInstalled(`${packages.join(", ")} can't be installed from PyPI`, {
				cause: error,
			});
	}
	return interpreter;
}

/** The Python library of Standard Webhooks, published by its authors. */
export const STANDARD_WEBHOOKS = "standardwebhooks==1.1.0";

/** The test suite for SCIM servers, with its client. */
export const SCIM_TESTER = ["scim2-tester==0.5.2", "scim2-client[httpx2]==0.13.2"];

/** Packages that read and write Parquet. */
const PARQUET = ["duckdb==2.0.0", "pyarrow==26.0.1", "polars==2.1.0"];

let installed: Promise<string | null> | undefined;

/**
 * Returns the path of a Python with DuckDB, pyarrow and polars. Null if they can't be installed.
 */
export const python = () => (installed ??= pythonWith(PARQUET).catch(() => null));
