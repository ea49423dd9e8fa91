import { execFile } from "node:child_process";
import { existsSync, renameSync, rmSync } from "node:fs";
import { promisify } from "node:util";
import { onDemand, startServer } from "./peers.ts";

/** ClickHouse's engine, from PyPI. Its dependencies are only for data frames and not installed. */
const ENGINE = "chdb-core==26.9.0";
const venv = `${import.meta.dirname}/../../node_modules/.cache/${ENGINE}`;

const run = promisify(execFile);

/** Installs the engine, once for each checkout. */
async function install() {
	if (existsSync(venv)) return;
	// Installed in a temporary folder and then renamed, since another run may be installing it at the
	// same time.
	const draft = `${venv}-${process.pid}`;
	try {
		await run("python3", ["-m", "venv", draft]);
		await run(`${draft}/bin/python`, [
			...["-m", "pip", "install", "--retries=1", "--timeout=60"],
			...["--no-deps", "--only-binary=:all:", ENGINE],
		]);
		renameSync(draft, venv);
	} catch (error) {
		rmSync(draft, { recursive: true, force: true });
		if (!existsSync(venv)) throw error;
	}
}

/** A ClickHouse on loopback. Without Python or a package index, it closes every connection. */
export async function clickhouse() {
	const CLICKHOUSE_USER = "tenantry";
	const CLICKHOUSE_PASSWORD = "password-of-nobody";
	const port = await onDemand("ClickHouse", async () => {
		await install();
		return startServer("clickhouse", (port) => [
			`${venv}/bin/python`,
			`${import.meta.dirname}/clickhouse.py`,
			...[String(port), CLICKHOUSE_USER, CLICKHOUSE_PASSWORD],
		]);
	});
	const CLICKHOUSE_URL = `http://127.0.0.1:${port}`;
	return { CLICKHOUSE_URL, CLICKHOUSE_USER, CLICKHOUSE_PASSWORD };
}
