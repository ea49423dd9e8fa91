/** Runs the command line as people do. */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

export const FILE = `${import.meta.dirname}/../bin/tenantry.js`;

type Options = { environment: Record<string, string>; isInTerminal?: boolean };

const quoted = (words: string[]) => words.map((word) => `'${word}'`).join(" ");

/** Starts a command. In a terminal, all of its output is in `out`. */
export function start(words: string[], { environment, isInTerminal = false }: Options) {
	const command = [process.execPath, FILE, ...words];
	const [program = "", ...rest] = isInTerminal
		? ["script", "-qec", `exec ${quoted(command)}`, "/dev/null"]
		: command;
	const { TENANTRY_KEY: _, TENANTRY_URL: __, TENANTRY_PROFILE: ___, ...inherited } = process.env;
	const child = spawn(program, rest, {
		env: { ...inherited, TERM: "xterm", ...environment },
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
		/** Ends its input, and waits for its end. */
		async result(input = "") {
			child.stdin.end(input);
			return { code: await ended, ...printed };
		},
	};
}
