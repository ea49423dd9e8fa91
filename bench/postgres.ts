/**
 * What exporting a row to PostgreSQL costs, beside psql's \copy of the same rows. Both write into a new table with a
 * primary key. Prints the CPU time of the whole export (worker and server) and of its write alone (without what the
 * same export to NoOp takes) as multiples of \copy (psql and server): the medians of rounds that take turns.
 *
 * node bench/postgres.ts [rows] [rounds]
 */
import { execFileSync, spawn } from "node:child_process";
import {
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { environment, run } from "../scripts/run.ts";
import { databases, PASSWORD } from "../test/support/postgres.ts";
import { freePort } from "../test/support/server.ts";

const [rows = 50_000, rounds = 5] = process.argv.slice(2).map(Number);

/** The largest INSERT that D1 takes in reasonable time. */
const STATEMENT_ROWS = 20_000;

const WINDOW = {
	start_at: "2026-01-01T00:00:00.000Z",
	end_at: "2026-01-01T01:00:00.000Z",
};

const state = mkdtempSync(`${tmpdir()}/tenantry-bench-`);
environment.STATE_DIR = state;

const { POSTGRES_PORT } = await databases();
if (!POSTGRES_PORT) throw new Error("PostgreSQL isn't installed.");

const config = {
	host: "127.0.0.1",
	port: Number(POSTGRES_PORT),
	user: "owner",
	password: PASSWORD,
	database: "postgres",
};

const psql = (sql: string) =>
	execFileSync("psql", ["-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql], {
		encoding: "utf8",
		env: {
			...process.env,
			PGHOST: config.host,
			PGPORT: POSTGRES_PORT,
			PGUSER: config.user,
			PGPASSWORD: PASSWORD,
			PGDATABASE: config.database,
			PGCLIENTENCODING: "UTF8",
		},
	});

/** What /proc says of a process (proc_pid_stat(5)); null once it has ended. */
function statOf(pid: string | number) {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		const words = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		const ticks = words.slice(11, 15).map(Number);
		return {
			name: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")),
			parent: Number(words[1]),
			group: Number(words[2]),
			/** Clock ticks of 10 ms, with those of children that have ended. */
			ticks: ticks.reduce((sum, n) => sum + n, 0),
		};
	} catch {
		return null;
	}
}

const processes = () =>
	readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((pid) => {
			const stat = statOf(pid);
			return stat ? [{ pid: Number(pid), ...stat }] : [];
		});

/** Seconds of CPU time of the processes that `which` takes. */
const cpu = (
	which: (process: ReturnType<typeof processes>[number]) => boolean,
) =>
	processes()
		.filter(which)
		.reduce((sum, { ticks }) => sum + ticks / 100, 0);

const postmaster = processes().find(
	({ pid, name }) =>
		name === "postgres" &&
		readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(
			`\0-p\0${POSTGRES_PORT}\0`,
		),
)?.pid;

const ofDatabase = () =>
	cpu(({ pid, parent }) => pid === postmaster || parent === postmaster);

const d1 = (...words: string[]) =>
	run("wrangler", "d1", ...words, "--local", "--persist-to", state);

d1("migrations", "apply", "DB");
const { key } = z
	.object({ key: z.string() })
	.parse(
		JSON.parse(
			run(
				"node",
				"scripts/admin.ts",
				...["bootstrap", "--email", "bench@example.com", "--json"],
			),
		),
	);
for (let from = 0; from < rows; from += STATEMENT_ROWS) {
	const file = `${state}/events.sql`;
	const to = Math.min(rows, from + STATEMENT_ROWS);
	// Events of some 400 bytes.
	writeFileSync(
		file,
		`insert into events with recursive n(i) as (select ${from} union all select i + 1 from n where i + 1 < ${to}),
			timed as (select i, strftime('%Y-%m-%dT%H:%M:%fZ', '${WINDOW.start_at}', '+' || (i * 3599.0 / ${rows}) || ' seconds') as at from n)
			select 1, printf('00000000-0000-4000-8000-%012x', i), 'event ' || (i % 20), 'person ' || (i % 1000), null,
				json_object('$browser', 'Chrome', 'path', '/page/' || (i * 7919 % 5000), 'value', i, 'token', hex(randomblob(40)),
					'text', 'some words that are the same in all, as in most events'),
				null, '', at, at, at from timed;`,
	);
	d1("execute", "DB", "--yes", "--file", file);
}

const port = await freePort();
const server = spawn(
	"wrangler",
	[
		"dev",
		...["--port", String(port), "--inspector-port", String(await freePort())],
		...["--persist-to", state, "--log-level", "error"],
		...["--var", `SECRETS_KEY:${Buffer.alloc(32).toString("base64")}`],
		...["--var", "ALLOW_PRIVATE_DESTINATIONS:true"],
		"--show-interactive-dev-session=false",
	],
	{ env: environment, stdio: ["ignore", "ignore", "inherit"], detached: true },
);
for (const name of ["SIGINT", "SIGTERM"] as const)
	process.once(name, () => process.exit(1));
process.on("exit", () => {
	if (server.pid) process.kill(-server.pid, "SIGKILL");
	rmSync(state, { recursive: true, force: true });
});

const ofWorker = () =>
	cpu(({ name, group }) => group === server.pid && name === "workerd");

async function ask(method: string, path: string, body?: unknown) {
	const answer = await fetch(
		`http://127.0.0.1:${port}/api/projects/1/batch_exports${path}`,
		{
			method,
			headers: {
				authorization: `Bearer ${key}`,
				"content-type": "application/json",
			},
			...(body !== undefined && { body: JSON.stringify(body) }),
		},
	);
	if (!answer.ok) throw new Error(await answer.text());
	return answer.json();
}

const isUp = () =>
	ask("GET", "/").then(
		() => true,
		() => false,
	);
while (!(await isUp())) await sleep(200);

const Made = z.object({ id: z.string() });
const Runs = z.object({
	results: z.array(
		z.object({
			status: z.string(),
			finished_at: z.string().nullable(),
			records_completed: z.int(),
			latest_error: z.string().nullable(),
		}),
	),
});

/** CPU seconds of a backfill to the destination. */
async function exported(destination: object) {
	const { id } = Made.parse(
		await ask("POST", "/", {
			name: "bench",
			interval: "hour",
			paused: true,
			destination,
		}),
	);
	const before = ofWorker() + ofDatabase();
	await ask("POST", `/${id}/backfill/`, WINDOW);
	for (;;) {
		await sleep(100);
		const [done] = Runs.parse(await ask("GET", `/${id}/runs/`)).results;
		if (!done?.finished_at) continue;
		if (done.status !== "Completed" || done.records_completed !== rows)
			throw new Error(JSON.stringify(done));
		// Until the backend has ended.
		await sleep(300);
		return ofWorker() + ofDatabase() - before;
	}
}

const file = `${state}/rows.copy`;

/** CPU seconds of \copy into a table like that of the export. */
async function copied(table: string) {
	psql(`create table copied (like ${table} including all)`);
	const before = ofDatabase() + (statOf(process.pid)?.ticks ?? 0) / 100;
	const own = process.cpuUsage();
	psql(`\\copy copied from '${file}'`);
	const { user, system } = process.cpuUsage(own);
	await sleep(300);
	const seconds =
		ofDatabase() + (statOf(process.pid)?.ticks ?? 0) / 100 - before;
	psql("drop table copied");
	return seconds - (user + system) / 1e6;
}

const median = (numbers: number[]) =>
	numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

const wholes: number[] = [];
const writes: number[] = [];
for (let round = 0; round <= rounds; round += 1) {
	const table_name = `events_${round}`;
	const whole = await exported({
		type: "Postgres",
		config: { ...config, table_name },
	});
	const reading = await exported({ type: "NoOp" });
	psql(`\\copy ${table_name} to '${file}'`);
	const copy = await copied(table_name);
	// The first round warms up.
	if (round === 0) continue;
	wholes.push(whole / copy);
	writes.push((whole - reading) / copy);
	console.log(
		`round ${round}: export ${whole.toFixed(2)} s, NoOp ${reading.toFixed(2)} s, \\copy ${copy.toFixed(2)} s of CPU`,
	);
}
console.log(
	`${rows} rows: an export takes ${median(wholes).toFixed(1)} times the CPU of \\copy, its write alone ${median(writes).toFixed(1)} times`,
);
process.exit(0);
