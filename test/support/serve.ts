/**
 * Runs a server for commands that test the service from outside: `wrangler dev` with a separate
 * configuration and state.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { environment, fail, run, signalGroup } from "../../build/run.ts";

const root = `${import.meta.dirname}/../..`;

const Owner = z.object({ key: z.string(), organization: z.string(), project: z.int() });

/** An owner that `bootstrap` has created, with the organization, the project and a key. */
export type Owner = z.infer<typeof Owner>;

/**
 * Creates the tables of a state, and an owner. Later commands of this process use the same state.
 */
export function bootstrap(
	state: string,
	{ email = "owner@example.com", organization }: { email?: string; organization?: string } = {},
) {
	environment.STATE_DIR = state;
	run("wrangler", "d1", "migrations", "apply", "DB", "--local", "--persist-to", state);
	const options = ["--email", email, ...(organization ? ["--organization", organization] : [])];
	return Owner.parse(
		JSON.parse(run("node", "scripts/admin.ts", "bootstrap", ...options, "--json")),
	);
}

const isFree = (port: number) =>
	new Promise<boolean>((resolve) => {
		const probe = createServer()
			.once("error", () => resolve(false))
			.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
	});

/**
 * Writes the project's configuration without rate limits to a folder, with absolute paths. Returns
 * the path of the file.
 */
function configure(folder: string) {
	const config = `${folder}/wrangler.toml`;
	writeFileSync(
		config,
		readFileSync(`${root}/wrangler.toml`, "utf8")
			.replace(/limit = \d+, period/g, "limit = 1_000_000, period")
			.replace('main = "', `main = "${root}/`)
			.replace('directory = "', `directory = "${root}/`)
			.replace('migrations_dir = "', `migrations_dir = "${root}/`)
			.replaceAll('= "./src/', `= "${root}/src/`),
	);
	return config;
}

const running = new Set<ChildProcess>();

process.on("exit", () => {
	for (const server of running) signalGroup(server, "SIGKILL");
});
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(1));

type Options = {
	/** The worker's name, which must be unique among running servers. */
	name: string;
	port: number;
	/** The folder to which the configuration is written. */
	folder: string;
	/** The folder of the server's state. */
	state: string;
	variables?: Record<string, string>;
	/** Additional options of `wrangler dev`. */
	more?: string[];
	/** The file to which the output is appended. By default, only errors are shown. */
	log?: string;
};

/**
 * Starts a server and waits until it responds. DNS lookups and the hosts of plugin sources are
 * disabled.
 */
export async function serve(options: Options) {
	const { name, port, folder, state, more = [], log } = options;
	const nowhere = "http://127.0.0.1:1";
	const variables = {
		SECRETS_KEY: Buffer.alloc(32, 1).toString("base64"),
		DOH_URL: nowhere,
		GITHUB_API_URL: nowhere,
		GITLAB_API_URL: nowhere,
		ORGANIZATIONS_PER_DAY: "1000000",
		...options.variables,
	};
	// A killed server may use the port for a moment longer.
	while (!(await isFree(port))) await sleep(50);
	const output = log && openSync(log, "a");
	const server = spawn(
		"wrangler",
		[
			...["dev", "--config", configure(folder), "--name", name],
			...["--port", String(port)],
			...["--persist-to", state, "--log-level", "error"],
			"--show-interactive-dev-session=false",
			...more,
			...Object.entries(variables).flatMap(([name, value]) => ["--var", `${name}:${value}`]),
		],
		{
			env: environment,
			stdio: ["ignore", output || "ignore", output || "inherit"],
			detached: true,
		},
	);
	running.add(server);
	const ended = new Promise<void>((resolve) =>
		server.once("exit", () => {
			running.delete(server);
			resolve();
		}),
	);
	const url = `http://127.0.0.1:${port}`;
	while (
		!(await fetch(`${url}/healthz`).then(
			({ ok }) => ok,
			() => false,
		))
	) {
		if (!running.has(server)) fail("The server did not start.");
		await sleep(200);
	}
	return {
		url,
		pid: server.pid,
		ended,
		kill() {
			signalGroup(server, "SIGKILL");
			return ended;
		},
	};
}
