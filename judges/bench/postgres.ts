/** Runs a PostgreSQL to which exports write, and psql's \copy for comparison. */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { findProgram } from "../../test/support/peers.ts";
import { databases, PASSWORD } from "../../test/support/postgres.ts";
import { cpuOf, cpuOfCommand } from "./processes.ts";
import type { Window } from "./service.ts";

const COLUMNS =
	"uuid, event, distinct_id, person_id, properties, person_properties, elements_chain, timestamp, created_at, _inserted_at, team_id";

/** Time for a server process to end after its connection was closed. */
const END_MS = 300;

/**
 * Starts a PostgreSQL. Returns null if PostgreSQL or psql isn't installed.
 * @param rows the file for the rows that \copy reads
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
	// Must not block, because connections go through this process.
	const psql = async (sql: string) => {
		const { stdout } = await promisify(execFile)(
			"psql",
			["-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql],
			{ env: { ...process.env, ...environment } },
		);
		return stdout;
	};
	// Otherwise, PostgreSQL sometimes vacuums all tables during a measurement.
	await psql("alter system set autovacuum = off");
	await psql("select pg_reload_conf()");
	// The first line is the server's process id.
	const postmaster = Number.parseInt(await psql("select pg_read_file('postmaster.pid')"), 10);
	/** Returns the CPU time that the server has used so far, in seconds. */
	const cpu = () => cpuOf(({ pid, parent }) => pid === postmaster || parent === postmaster);

	/**
	 * Runs a command that fills a new table like `table`. Returns the CPU time of the command and the
	 * server, in seconds.
	 */
	async function copyInto(table: string, command: string, args: string[]) {
		await psql("drop table if exists copied");
		await psql(`create table copied (like ${table} including all)`);
		const before = cpu();
		const client = await cpuOfCommand(command, args, environment);
		await sleep(END_MS);
		return client + cpu() - before;
	}

	return {
		config,
		/** Returns the CPU time that the server needs for `work`, in seconds. */
		async measure(work: () => Promise<unknown>) {
			const before = cpu();
			await work();
			await sleep(END_MS);
			return cpu() - before;
		},
		/**
		 * Copies the rows of a table into a new one. Returns the CPU time of psql and the server, in
		 * seconds.
		 */
		async copy(table: string) {
			await psql(`\\copy ${table} to '${rows}'`);
			return copyInto(table, 'psql -qX -v ON_ERROR_STOP=1 -c "$1"', [
				`\\copy copied from '${rows}'`,
			]);
		},
		/**
		 * The same with rows of D1, which the sqlite3 command line reads. Null if it isn't installed.
		 */
		copyOfD1: findProgram("sqlite3")
			? (table: string, { database, window }: { database: string; window: Window }) =>
					copyInto(
						table,
						'sqlite3 -readonly -csv "$1" "$2" | psql -qX -v ON_ERROR_STOP=1 -c "$3"',
						[
							database,
							`select ${COLUMNS} from ${window.events}`,
							`\\copy copied (${COLUMNS}) from stdin csv`,
						],
					)
			: null,
	};
}
