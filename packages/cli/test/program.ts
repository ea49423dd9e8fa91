/** Runs the built command line as people do. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, inject } from "vitest";

export const FILE = `${import.meta.dirname}/../dist/tenantry.js`;

/** The folder in which logins are saved. */
export const home = mkdtempSync(`${tmpdir()}/tenantry-cli-`);
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** The environment of a command with a key. */
export const withKey = () => ({ TENANTRY_URL: inject("url"), TENANTRY_KEY: inject("key") });

type Environment = Record<string, string>;

function start(program: string, words: string[], environment: Environment) {
	const { TENANTRY_KEY: _, TENANTRY_URL: __, NO_COLOR: ___, ...others } = process.env;
	const { TENANTRY_PROFILE: ____, SSH_CONNECTION: _____, ...inherited } = others;
	const child = spawn(program, words, {
		env: { ...inherited, TERM: "xterm", XDG_CONFIG_HOME: home, ...environment },
		stdio: ["pipe", "pipe", "pipe"],
	});
	const printed = { out: "", err: "" };
	child.stdout.setEncoding("utf8").on("data", (text) => (printed.out += text));
	child.stderr.setEncoding("utf8").on("data", (text) => (printed.err += text));
	child.stdin.on("error", () => {});
	const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
	return {
		child,
		printed,
		ended,
		/** Waits until the output has this. */
		async says(pattern: RegExp) {
			while (!pattern.test(printed.out + printed.err)) {
				if (child.exitCode !== null)
					throw new Error(`It ended, and printed ${JSON.stringify(printed)}.`);
				await sleep(50);
			}
		},
	};
}

/** Starts a command that goes on. */
export const begin = (words: string[], environment: Environment = withKey()) =>
	start(process.execPath, [FILE, ...words], environment);

/** Runs a command to its end. */
export async function tenantry(
	words: string[],
	{ input = "", environment = withKey() }: { input?: string; environment?: Environment } = {},
) {
	const { child, printed, ended } = begin(words, environment);
	child.stdin.end(input);
	return { code: await ended, ...printed };
}

/** Starts a command in a terminal of this width. */
export const inTerminal = (
	words: string[],
	{ width = 80, environment = withKey() }: { width?: number; environment?: Environment } = {},
) => {
	const quoted = [process.execPath, FILE, ...words].map((word) => `'${word}'`).join(" ");
	return start("script", ["-qec", `stty cols ${width}; exec ${quoted}`, "/dev/null"], environment);
};

/** Runs a command, which has to succeed, and returns what it printed as JSON. */
export async function value(words: string[], input?: string) {
	const { code, out, err } = await tenantry([...words, "--json"], input ? { input } : {});
	if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}: ${err}`);
	return JSON.parse(out);
}
