import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

const root = `${import.meta.dirname}/..`;

const git = (...words: string[]) =>
	execFileSync("git", words, {
		encoding: "utf8",
		stdio: ["ignore", "pipe", "ignore"],
		maxBuffer: 2 ** 26,
	});

const existing = (list: string) =>
	list.split("\n").filter((path) => path !== "" && existsSync(path));

/** Returns the files of the project that match the patterns of `git ls-files`. */
export const filesOf = (...patterns: string[]) =>
	existing(git("ls-files", "--cached", "--others", "--exclude-standard", ...patterns));

/** Returns the commit where this branch left `main`; undefined if git or `main` isn't there. */
function branchPoint() {
	for (const main of ["origin/main", "main"])
		try {
			return git("merge-base", "HEAD", main).trim();
		} catch {
			// There is no such branch.
		}
	return undefined;
}

/** Returns a file as it was where this branch left `main`; undefined if it wasn't there. */
export function textBefore(path: string) {
	try {
		return git("show", `${branchPoint()}:${path}`);
	} catch {
		return undefined;
	}
}

/** Returns the files that differ from those where this branch left `main`. */
export function changedFiles() {
	const from = branchPoint();
	if (from === undefined) return filesOf();
	return existing(
		git("diff", "--name-only", from) + git("ls-files", "--others", "--exclude-standard"),
	);
}

/**
 * Writes a file, by its path in the repository, unless it has this content. No other program reads
 * half of it.
 */
export function write(path: string, text: string) {
	const file = `${root}/${path}`;
	if (existsSync(file) && readFileSync(file, "utf8") === text) return;
	mkdirSync(dirname(file), { recursive: true });
	mkdirSync(`${root}/.wrangler`, { recursive: true });
	const draft = `${root}/.wrangler/${randomUUID()}`;
	writeFileSync(draft, text);
	renameSync(draft, file);
}

/** When a file was last changed, or the newest file in a folder; 0 if there is none. */
function changedAt(path: string): number {
	const found = statSync(path, { throwIfNoEntry: false });
	if (!found?.isDirectory()) return found?.mtimeMs ?? 0;
	// The time of the folder itself shows that a file was removed.
	return readdirSync(path).reduce(
		(newest, name) => Math.max(newest, changedAt(`${path}/${name}`)),
		found.mtimeMs,
	);
}

/**
 * Runs `build` if a file that it makes is missing or older than a source, or `always`. Paths are
 * those in the repository.
 */
export function buildOutdated(
	made: string[],
	sources: string[],
	build: () => void,
	always: boolean,
) {
	const files = made.map((path) => `${root}/${path}`);
	const newest = Math.max(...sources.map((path) => changedAt(`${root}/${path}`)));
	if (!always && newest <= Math.min(...files.map(changedAt))) return;
	const start = new Date();
	build();
	// Unchanged files aren't written, but they are as new as the sources.
	for (const file of files) utimesSync(file, start, start);
}
