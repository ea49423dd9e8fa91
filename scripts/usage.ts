/** Wrong usage of the commands that npm runs. Commands with wrong usage exit with 2. */
import { fail } from "../build/run.ts";

export const WRONG_USAGE = 2;

/** Ends a script that has no options if it got an argument. For `--help`, prints its usage. */
export function expectNoArguments(usage: string) {
	const [word] = process.argv.slice(2);
	if (word === "--help") {
		console.log(usage);
		process.exit(0);
	}
	if (word !== undefined) fail(`Unexpected argument: ${word}\n\n${usage}`, WRONG_USAGE);
}

/**
 * Ends the script if npm has kept one of these options for itself, because no `--` precedes it.
 * Without this check, `npm run deploy --env=staging` would deploy to production.
 */
export function expectOptionsAfterDashes(command: string, names: string[]) {
	const name = names.find((name) => process.env[`npm_config_${name.replaceAll("-", "_")}`]);
	if (name)
		fail(
			`npm doesn't pass --${name} to the command. Put -- before the options: ${command} -- --${name}`,
			WRONG_USAGE,
		);
}
