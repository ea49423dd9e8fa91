import { onDemand, startServer } from "./peers.ts";
import { pythonWith } from "./python.ts";

/**
 * ClickHouse's engine, from PyPI. Its dependencies are only for data frames, so they aren't
 * installed.
 */
const ENGINE = "chdb-core==26.9.0";
/**
 * Starts a ClickHouse on loopback. Without Python or a package index, it responds with
 * `NOT_INSTALLED`.
 */
export async function clickhouse() {
	const CLICKHOUSE_USER = "tenantry";
	const CLICKHOUSE_PASSWORD = "password-of-nobody";
	const port = await onDemand("ClickHouse", async () => {
		const python = await pythonWith([ENGINE], ["--no-deps"]);
		return startServer("clickhouse", (port) => [
			python,
			`${import.meta.dirname}/clickhouse.py`,
			...[String(port), CLICKHOUSE_USER, CLICKHOUSE_PASSWORD],
		]);
	});
	const CLICKHOUSE_URL = `http://127.0.0.1:${port}`;
	return { CLICKHOUSE_URL, CLICKHOUSE_USER, CLICKHOUSE_PASSWORD };
}
