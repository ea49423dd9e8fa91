/** Runs the command line within the process of the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { PassThrough, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, inject } from "vitest";
import { tenantry as run } from "../src/tenantry.ts";

/** The folder in which logins are saved. */
export const home = mkdtempSync(`${tmpdir()}/tenantry-cli-`);
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** The environment of a command with a key. */
export const withKey = () => ({ TENANTRY_URL: inject("url"), TENANTRY_KEY: inject("key") });

type Options = {
	environment?: Record<string, string>;
	input?: string;
	/** The width of the terminal in which it runs. By default, it runs in none. */
	width?: number;
};

/** Starts a command. In a terminal, all of its output is in `out`. */
export function begin(
	words: string[],
	{ environment = withKey(), input = "", width }: Options = {},
) {
	const printed = { out: "", err: "" };
	const terminal = width === undefined ? {} : { isTTY: true, columns: width };
	const to = (name: "out" | "err") =>
		Object.assign(
			new Writable({
				write(chunk, _, done) {
					printed[name] += chunk;
					done();
				},
			}),
			terminal,
		);
	const stdin = Object.assign(new PassThrough(), terminal);
	let isRunning = true;
	const ended = run(words, {
		streams: { stdin, stdout: to("out"), stderr: to(width === undefined ? "err" : "out") },
		env: { TERM: "xterm", XDG_CONFIG_HOME: home, ...environment },
		read: () => input,
	}).finally(() => {
		isRunning = false;
	});
	return {
		printed,
		ended,
		type: (text: string) => stdin.write(text),
		/** Waits until the output has this. */
		async says(pattern: RegExp) {
			for (;;) {
				const match = pattern.exec(printed.out + printed.err);
				if (match) return match;
				if (!isRunning) throw new Error(`It ended, and printed ${JSON.stringify(printed)}.`);
				await sleep(20);
			}
		},
	};
}

/** Runs a command to its end. */
export async function tenantry(words: string[], options: Options = {}) {
	const { printed, ended } = begin(words, options);
	return { code: await ended, ...printed };
}

/** Runs a command, which has to succeed, and returns what it printed as JSON. */
export async function value(words: string[], input?: string) {
	const { code, out, err } = await tenantry([...words, "--json"], input ? { input } : {});
	if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}: ${err}`);
	return JSON.parse(out);
}
