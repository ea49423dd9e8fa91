/** Runs the command line within the process of the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { PassThrough, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, inject, onTestFinished } from "vitest";
import { listen } from "../../../test/support/peers.ts";
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

type Status = number | undefined;

/**
 * Starts a proxy of the service, until the test ends.
 * @param meddle gets the path of each response, and returns the status that it has instead; 0 for none
 * @param change what requests and responses become on their way
 */
export async function proxy(
	meddle: (path: string) => Status | Promise<Status>,
	change: { path?: (path: string) => string; body?: (body: string) => string } = {},
) {
	const { path: toPath = String, body: toBody = String } = change;
	const server = createServer(async (request, response) => {
		const { method = "", url: path = "", headers } = request;
		const { authorization, "content-type": type } = headers;
		const received = await fetch(inject("url") + toPath(path), {
			method,
			headers: { ...(authorization && { authorization }), ...(type && { "content-type": type }) },
			...(method === "POST" && { body: await text(request) }),
		});
		const sent = toBody(await received.text()).replaceAll(inject("url"), url);
		const status = await meddle(path);
		if (status === 0) request.socket.destroy();
		else if (status === undefined)
			response.writeHead(received.status, { "content-type": "application/json" }).end(sent);
		else response.writeHead(status).end("Away.");
	});
	const url = `http://127.0.0.1:${await listen(server)}`;
	onTestFinished(() => {
		server.close();
		server.closeAllConnections();
	});
	return url;
}
