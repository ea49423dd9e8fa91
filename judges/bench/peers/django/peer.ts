import { execFile, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import * as z from "zod";
import { signalGroup } from "../../../../build/run.ts";
import { freePort } from "../../../../test/support/peers.ts";
import { databases, PASSWORD } from "../../../../test/support/postgres.ts";
import { isPythonWith, pythonWith } from "../../../../test/support/python.ts";
import type { Service } from "../../operations.ts";
import { cpuOf } from "../../processes.ts";
import { MEMBERS } from "../../seed.ts";
import { callOf, read } from "../tenantry.ts";

const PACKAGES = [
	"Django==5.2.19",
	"djangorestframework==3.18.3",
	"gunicorn==27.0.1",
	"psycopg[binary]==3.3.9",
];

const Owner = z.object({ organization: z.string(), key: z.string() });

export const isInstalled = () => isPythonWith(PACKAGES);

/**
 * Returns the path of a Python with its packages, and installs them first if necessary.
 * @throws if they can't be installed
 */
export const install = () => pythonWith(PACKAGES);

/**
 * Connects to the server through a proxy's port. Returns the client, the server's process id, and
 * variables with its own port.
 */
async function connect(port: string) {
	const login = { user: "owner", password: PASSWORD, database: "postgres", host: "127.0.0.1" };
	const client = new pg.Client({ ...login, port: Number(port) });
	await client.connect();
	const { rows } = await client.query<{ lines: string }>(
		"select pg_read_file('postmaster.pid') as lines",
	);
	// The lines of the file: process, folder, time, port.
	const [pid = "", , , ownPort = ""] = rows[0]?.lines.split("\n") ?? [];
	return {
		client,
		postmaster: Number(pid),
		variables: {
			PGPORT: ownPort.trim(),
			PGUSER: login.user,
			PGPASSWORD: login.password,
			PGDATABASE: login.database,
		},
	};
}

/**
 * Starts Django REST framework on PostgreSQL, with gunicorn and two processes.
 * @returns null if PostgreSQL isn't installed
 */
export async function start(python: string): Promise<Service | null> {
	const { POSTGRES_PORT } = await databases();
	if (!POSTGRES_PORT) return null;
	const { client, postmaster, variables } = await connect(POSTGRES_PORT);
	const environment = {
		cwd: import.meta.dirname,
		env: {
			...process.env,
			...variables,
			DJANGO_SETTINGS_MODULE: "service.settings",
			PYTHONDONTWRITEBYTECODE: "1",
		},
	};
	const { stdout } = await promisify(execFile)(
		python,
		["-m", "service.fill", String(MEMBERS)],
		environment,
	);
	const { organization, key } = Owner.parse(JSON.parse(stdout));
	const port = await freePort();
	const server = spawn(
		python,
		[
			...["-m", "gunicorn", "service.wsgi", "--bind", `127.0.0.1:${port}`],
			...["--workers", "2", "--threads", "4", "--worker-class", "gthread"],
			...["--keep-alive", "60", "--log-level", "error"],
		],
		{ ...environment, stdio: ["ignore", "ignore", "inherit"], detached: true },
	);
	const stop = () => signalGroup(server, "SIGKILL");
	process.on("exit", stop);
	const url = new URL(`http://127.0.0.1:${port}`);
	const answers = () =>
		fetch(url.href).then(
			() => true,
			() => false,
		);
	while (!(await answers())) await sleep(200);
	return {
		name: "django",
		url,
		call: (operation) => callOf({ id: 1, project: 1, organization, key }, operation),
		read,
		cpu: () =>
			cpuOf(
				({ pid, parent, group }) =>
					group === server.pid || pid === postmaster || parent === postmaster,
			),
		reset: () => client.query("truncate service_invite, service_activitylog"),
		counts: false,
		async stop() {
			stop();
			await client.end();
		},
	};
}
