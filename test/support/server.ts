import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, globSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { HANG_MS } from "./hang.ts";

export { freePort } from "./peers.ts";

const root = `${import.meta.dirname}/../..`;

/** Programs that can be the browser. The first needs a quarter less CPU time than Chromium. */
const BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Returns the path of Chromium; undefined if it isn't installed. */
export const browserAt = () =>
	BROWSERS.map((name) => `/usr/bin/${name}`).find((path) => existsSync(path));

/** Creates a temporary folder for local state. */
export const folder = () => mkdtempSync(`${tmpdir()}/tenantry-`);

/** Creates a folder like a fresh clone of the project. Only what commands change is a copy. */
export function cloneOfProject() {
	const clone = folder();
	for (const name of ["package.json", "wrangler.toml", "scripts", "build", "migrations", "public"])
		cpSync(`${root}/${name}`, `${clone}/${name}`, { recursive: true });
	const pages = globSync("*.md", { cwd: root });
	for (const name of [...pages, "docs", "judges", "node_modules", "packages", "src"])
		symlinkSync(resolve(root, name), `${clone}/${name}`);
	return clone;
}

export const discard = (path: string) => rmSync(path, { recursive: true, force: true });

const execute = promisify(execFile);

/**
 * Runs a program, and returns its output and exit code. Doesn't block, because a blocked test
 * couldn't notice that a server closes its connection.
 */
async function run(program: string, words: string[], environment: Record<string, string>) {
	try {
		const { stdout: out } = await execute(program, words, {
			cwd: root,
			env: { ...process.env, ...environment },
		});
		return { code: 0, out, err: "" };
	} catch (error) {
		const { code = -1, stdout = "", stderr = "" } = Object(error);
		return { code: Number(code), out: String(stdout), err: String(stderr) };
	}
}

/** Runs an npm script. */
export const npm = (script: string, words: string[], environment: Record<string, string>) =>
	run("npm", ["run", "--silent", script, "--", ...words], environment);

/** Runs an npm script without npm, which takes longer to start than most scripts take to run. */
export const script = (name: string, words: string[], environment: Record<string, string> = {}) =>
	run(process.execPath, [`scripts/${name}.ts`, ...words], environment);

/** Runs `npm run admin`. */
export const admin = (words: string[], environment: Record<string, string> = {}) =>
	script("admin", words, environment);

/** Runs `npm start` and collects its output. */
export class Server {
	readonly #process: ChildProcess;
	printed = "";

	constructor(environment: Record<string, string>) {
		this.#process = spawn("npm", ["start", "--silent"], {
			cwd: root,
			env: { ...process.env, ...environment },
			stdio: ["ignore", "pipe", "pipe"],
			detached: true,
		});
		for (const stream of [this.#process.stdout, this.#process.stderr])
			stream?.on("data", (data) => (this.printed += data));
		// Ends the server if this process ends first.
		const watcher = spawn("sh", ["-c", 'read -r _; kill "$0"', String(this.#process.pid)], {
			detached: true,
			stdio: ["pipe", "ignore", "ignore"],
		});
		this.#process.once("exit", () => watcher.kill());
	}

	/** Waits until the output after the first `from` characters matches. Returns the match. */
	async says(pattern: RegExp, { from = 0 } = {}) {
		const deadline = performance.now() + HANG_MS;
		while (performance.now() < deadline) {
			const { exitCode, signalCode } = this.#process;
			const ended = exitCode !== null || signalCode !== null;
			const match = pattern.exec(this.printed.slice(from));
			if (match) return match;
			if (ended) break;
			await sleep(100);
		}
		throw new Error(`${pattern} was not printed, but:\n${this.printed}`);
	}

	/** Waits until the server ends by itself. Returns its exit code. */
	async ended() {
		if (this.#process.exitCode === null) await once(this.#process, "exit");
		return this.#process.exitCode;
	}

	/** Stops the server like Ctrl-C: the signal goes to the whole process group. */
	stop = () => this.#end((pid) => process.kill(-pid, "SIGINT"));

	/**
	 * Kills every process that uses this state, like a power failure. The server has a separate
	 * process group.
	 */
	kill = (state: string) =>
		this.#end((pid) => {
			for (const group of [pid, ...groups(state)]) process.kill(-group, "SIGKILL");
		});

	/** Kills npm and its script, but not the server, which has a separate process group. */
	abandon = () => this.#end((pid) => process.kill(-pid, "SIGKILL"));

	/** Stops only npm, like a supervisor. */
	orphan = () => this.#end((pid) => process.kill(pid, "SIGTERM"));

	async #end(kill: (pid: number) => void) {
		const { pid, exitCode, signalCode } = this.#process;
		if (exitCode !== null || signalCode !== null || pid === undefined) return;
		const ended = new Promise((resolve) => this.#process.once("exit", resolve));
		kill(pid);
		await ended;
	}
}

/** Returns the processes whose command line contains this text, with their groups. */
const running = (text: string) =>
	execFileSync("ps", ["-eo", "pid=,pgid=,stat=,args="], { encoding: "utf8" })
		.split("\n")
		.map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [])
		.filter(([, , , state, args]) => args?.includes(text) && !state?.startsWith("Z"))
		.map(([, pid, group]) => ({ pid: Number(pid), group: Number(group) }));

/** Returns the ids of the processes whose command line contains this text. */
export const processes = (text: string) => running(text).map(({ pid }) => pid);

/** Returns the process groups whose leader's command line contains this text. */
const groups = (text: string) =>
	running(text).flatMap(({ pid, group }) => (pid === group ? [group] : []));
