/** A PostgreSQL that exports write to, and psql's \copy for comparison. */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { findProgram } from "../test/support/peers.ts";
import { databases, PASSWORD } from "../test/support/postgres.ts";
import { cpuOf, cpuOfCommand } from "./processes.ts";

/** A server process has ended this long after its connection was closed. */
const END_MS = 300;

/**
 * Starts a PostgreSQL; null if it or psql isn't installed.
 * @param rows a file for the rows that \copy reads
 */
export async function startPostgres(rows: string) {
	const { POSTGRES_PORT } = await databases();
	if (!POSTGRES_PORT || !findProgram("psql")) return null;
	const config = {
		host: "127.0.0.1",
		port: Number(POSTGRES_PORT),
		user: "owner",
		password: PASSWORD,
		database: "postgres",
	};
	const environment = {
		PGHOST: config.host,
		PGPORT: POSTGRES_PORT,
		PGUSER: config.user,
		PGPASSWORD: config.password,
		PGDATABASE: config.database,
		PGCLIENTENCODING: "UTF8",
		PGOPTIONS: "-c client_min_messages=warning",
	};
	// Never blocks: connections go through this process.
	const psql = async (sql: string) => {
		const { stdout } = await promisify(execFile)(
			"psql",
			["-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql],
			{ env: { ...process.env, ...environment } },
		);
		return stdout;
	};
	// The first line is the server's process id.
	const postmaster = Number.parseInt(await psql("select pg_read_file('postmaster.pid')"), 10);
	/** Seconds of CPU time that the server has used so far. */
	const cpu = () => cpuOf(({ pid, parent }) => pid === postmaster || parent === postmaster);

	return {
		config,
		/** Seconds of CPU time that the server takes for some work. */
		async measure(work: () => Promise<unknown>) {
			const before = cpu();
			await work();
			await sleep(END_MS);
			return cpu() - before;
		},
		/** Seconds of CPU time, of psql and the server, for copying the rows of a table into a new one like it. */
		async copy(table: string) {
			await psql(`\\copy ${table} to '${rows}'`);
			await psql("drop table if exists copied");
			await psql(`create table copied (like ${table} including all)`);
			const before = cpu();
			const client = await cpuOfCommand(
				'psql -qX -v ON_ERROR_STOP=1 -c "$1"',
				[`\\copy copied from '${rows}'`],
				environment,
			);
			await sleep(END_MS);
			return client + cpu() - before;
		},
	};
}
