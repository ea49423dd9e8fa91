import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Returns the files of the project that match the patterns of `git ls-files`. */
export const filesOf = (...patterns: string[]) =>
	execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns], {
		encoding: "utf8",
	})
		.split("\n")
		.filter((path) => path !== "" && existsSync(path));
