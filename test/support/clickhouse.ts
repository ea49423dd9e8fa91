import { execFile, spawn } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { freePort } from "./server.ts";

/** ClickHouse's engine as PyPI has it. What it depends on is for data frames, and is left out. */
const ENGINE = "chdb-core==26.9.0";
const venv = `${import.meta.dirname}/../../node_modules/.cache/${ENGINE}`;
const INSTALL_MS = 180_000;

const run = promisify(execFile);

/** Installs the engine once, where this machine has Python and an index of its packages. */
async function installed() {
	const mark = `${venv}/installed`;
	if (existsSync(mark)) return true;
	try {
		rmSync(venv, { recursive: true, force: true });
		const signal = AbortSignal.timeout(INSTALL_MS);
		await run("python3", ["-m", "venv", venv], { signal });
		const pip = [
			"-m",
			"pip",
			"install",
			"--retries=1",
			"--no-deps",
			"--only-binary=:all:",
		];
		await run(`${venv}/bin/python`, [...pip, ENGINE], { signal });
		writeFileSync(mark, "");
		return true;
	} catch {
		return false;
	}
}

/** A ClickHouse on loopback; its address is "" where there can be none. */
export async function clickhouse() {
	const CLICKHOUSE_USER = "tenantry";
	const CLICKHOUSE_PASSWORD = "password-of-nobody";
	const access = { CLICKHOUSE_USER, CLICKHOUSE_PASSWORD };
	if (!(await installed())) return { CLICKHOUSE_URL: "", ...access };
	const port = await freePort();
	const script = `${import.meta.dirname}/clickhouse.py`;
	const server = spawn(
		`${venv}/bin/python`,
		[script, String(port), CLICKHOUSE_USER, CLICKHOUSE_PASSWORD],
		{ stdio: "ignore" },
	);
	server.unref();
	process.on("exit", () => server.kill("SIGKILL"));
	const CLICKHOUSE_URL = `http://127.0.0.1:${port}`;
	for (let i = 0; i < 100; i++) {
		if (await fetch(CLICKHOUSE_URL).then(Boolean, () => false))
			return { CLICKHOUSE_URL, ...access };
		await new Promise((later) => setTimeout(later, 50));
	}
	return { CLICKHOUSE_URL: "", ...access };
}
