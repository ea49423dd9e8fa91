/** The streams of a command: in the program those of its process, in tests those of the test. */
import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";

type Output = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

export type Context = {
	streams: { stdin: NodeJS.ReadableStream & { isTTY?: boolean }; stdout: Output; stderr: Output };
	env: Record<string, string | undefined>;
	/** Reads all of stdin. */
	read: () => string;
	/** The profile of the command, instead of the one in the environment. */
	profile?: string | undefined;
	/** The URL of the last request of OAuth 2.1, for errors. */
	service?: string;
	/** Why a renewal has failed. Its token may be used up, so that the command sends none again. */
	failure?: unknown;
};

export const ofProcess: Context = {
	streams: process,
	env: process.env,
	read: () => readFileSync(0, "utf8"),
};

const current = new AsyncLocalStorage<Context>();

/** Returns the context of the command that runs. */
export const context = () => current.getStore() ?? ofProcess;

export const streams = () => context().streams;

/** Runs a command in a context. */
export const runIn = <T>(own: Context, command: () => Promise<T>) => current.run(own, command);
