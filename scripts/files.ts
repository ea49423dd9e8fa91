import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const root = `${import.meta.dirname}/..`;

/** Returns the files of the project that match the patterns of `git ls-files`. */
export const filesOf = (...patterns: string[]) =>
	execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns], {
		encoding: "utf8",
	})
		.split("\n")
		.filter((path) => path !== "" && existsSync(path));

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
