import { type ChildProcess, execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";

/** Keeps tools offline: no update check, no metrics, no lookup of this computer's location. */
const offline = {
	CLOUDFLARE_CF_FETCH_ENABLED: "false",
	WRANGLER_HIDE_BANNER: "true",
	WRANGLER_SEND_METRICS: "false",
	REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
};
export const environment: NodeJS.ProcessEnv = { ...process.env, ...offline };

/** Prints an error and ends the script. */
export function fail(why: string, code = 1): never {
	console.error(why);
	process.exit(code);
}

/**
 * Advice about a database of a build whose migrations are no longer there. Its first one is
 * `0000_tenants.sql`.
 */
export const earlierBuild = (fresh: string) =>
	`A database of a build before the migration 0000_init can't be migrated. Start with an empty one (${fresh}), or stay on commit 09bdb724.`;

export const messageOf = (error: unknown) =>
	error instanceof Error ? error.message : String(error);

/**
 * Sends a signal to the group of a process that was started with `detached`. Does nothing if all
 * its processes have ended.
 */
export function signalGroup({ pid }: ChildProcess, name: "SIGINT" | "SIGKILL") {
	try {
		if (pid) process.kill(-pid, name);
	} catch {
		// All processes have ended.
	}
}

/** Prints all output of a command that failed, and ends the script. */
function failed(command: string, words: string[], error: unknown): never {
	const { stdout = "", stderr = "" } =
		error instanceof Error ? { stdout: "", stderr: "", ...error } : {};
	return fail(`${command} ${words.join(" ")} failed:\n${stdout}${stderr}`);
}

/**
 * Runs a command and returns its stdout. If it fails, prints all of its output and ends the script.
 */
export function run(command: string, ...words: string[]) {
	try {
		return execFileSync(command, words, {
			env: environment,
			encoding: "utf8",
			stdio: ["ignore", "pipe", "pipe"],
		});
	} catch (error) {
		return failed(command, words, error);
	}
}

/** Like `run`, next to other commands. They end with this script. */
export async function runAside(command: string, ...words: string[]) {
	const running = promisify(execFile)(command, words, { env: environment, maxBuffer: 2 ** 26 });
	const end = () => running.child.kill();
	process.once("exit", end);
	try {
		return (await running).stdout;
	} catch (error) {
		return failed(command, words, error);
	} finally {
		process.off("exit", end);
	}
}
