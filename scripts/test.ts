/**
 * `npm test`: the checks, then the tests but those of `npm run test:all`. With words, such as
 * `npm test -- members`, only the tests in files whose path contains one of them, without the checks.
 */
import { spawnSync } from "node:child_process";
import { environment } from "../build/run.ts";

const LEVELS = ["unit", "worker", "journeys"];

const words = process.argv.slice(2);

/** Runs a program that prints to this terminal. Ends this script if it fails. */
function run(program: string, ...args: string[]) {
	const { status } = spawnSync(program, args, { env: environment, stdio: "inherit" });
	if (status !== 0) process.exit(status ?? 1);
}

if (words.length === 0) run("node", "scripts/check.ts");
run("vitest", "run", ...LEVELS.map((level) => `--project=${level}`), ...words);
