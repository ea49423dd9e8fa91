/** Lets one command at a time use a file. */
import { mkdirSync, rmSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "./output.ts";

/** What is done with the file takes less time. A lock that is older was left by a killed program. */
export const STALE_MS = 60_000;

const PAUSE_MS = 50;

/** Creates a folder, which only one of several programs can. Returns false if it exists. */
function create(path: string) {
	try {
		mkdirSync(path);
		return true;
	} catch (error) {
		if (isObject(error) && error.code === "EEXIST") return false;
		throw error;
	}
}

const isStale = (path: string) => {
	const state = statSync(path, { throwIfNoEntry: false });
	return state !== undefined && Date.now() - state.mtimeMs > STALE_MS;
};

/** Runs `action` while no other program has the lock of the file. */
export async function locked<T>(file: string, action: () => Promise<T>): Promise<T> {
	const path = `${file}.lock`;
	const release = () => rmSync(path, { recursive: true, force: true });
	while (!create(path)) {
		if (isStale(path)) release();
		else await sleep(PAUSE_MS);
	}
	// Ctrl-C ends the program without `finally`.
	process.once("exit", release);
	try {
		return await action();
	} finally {
		process.off("exit", release);
		release();
	}
}
