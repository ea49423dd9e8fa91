/** Lets one command at a time use a file. A lock is a folder with one file, named after its owner. */
import { randomUUID } from "node:crypto";
import {
	mkdirSync,
	readdirSync,
	renameSync,
	rmdirSync,
	rmSync,
	statSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "./output.ts";

/** Longer than any use of the file. A lock that is older was left by a killed program. */
const STALE_MS = 60_000;

const PAUSE_MS = 50;

/** The error of a change of a lock if another program was first; `EPERM` on Windows. */
const LATE: unknown[] = ["EEXIST", "ENOTEMPTY", "ENOENT", "EPERM"];

/** Changes a lock, as only one of several programs can. Returns false if another one was first. */
function unlessLate(change: () => boolean) {
	try {
		return change();
	} catch (error) {
		if (isObject(error) && LATE.includes(error.code)) return false;
		throw error;
	}
}

/** Creates the lock with its owner at once. Returns false if there is one. */
function create(path: string, owner: string) {
	const draft = `${path}.${owner}`;
	mkdirSync(draft);
	writeFileSync(`${draft}/${owner}`, "");
	const isCreated = unlessLate(() => {
		renameSync(draft, path);
		return true;
	});
	if (!isCreated) rmSync(draft, { recursive: true });
	return isCreated;
}

/** Takes over the lock of a killed program. Returns false if it may be in use. */
const takeOver = (path: string, owner: string) =>
	unlessLate(() => {
		// Read before the age: if another program takes the lock over in between, it isn't found below.
		const [last] = readdirSync(path);
		if (last === undefined) {
			rmdirSync(path);
			return false;
		}
		// The age is that of the last change of its owner.
		if (Date.now() - statSync(path).mtimeMs < STALE_MS) return false;
		renameSync(`${path}/${last}`, `${path}/${owner}`);
		return true;
	});

/** Removes the lock, unless another program has taken it over, such as while this one slept. */
const release = (path: string, owner: string) =>
	unlessLate(() => {
		unlinkSync(`${path}/${owner}`);
		rmdirSync(path);
		return true;
	});

let current: Promise<unknown> = Promise.resolve();

/** Resolves when this program has no lock, or only waits for one. */
export const released = () => current;

/** Runs `action` while no other program has the lock of the file. */
export async function locked<T>(file: string, action: () => Promise<T>): Promise<T> {
	const path = `${file}.lock`;
	const owner = randomUUID();
	while (!create(path, owner) && !takeOver(path, owner)) await sleep(PAUSE_MS);
	const end = () => release(path, owner);
	process.once("exit", end);
	try {
		const result = action();
		current = result.catch(() => undefined);
		return await result;
	} finally {
		process.off("exit", end);
		end();
	}
}
