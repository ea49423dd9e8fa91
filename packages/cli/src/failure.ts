/** Errors of commands, their messages and exit codes. */
import { CommanderError } from "commander";
import { TenantryError } from "../../client/src/errors.ts";
import { streams } from "./context.ts";
import { paint } from "./text.ts";

/** The exit codes of docs/cli.md#exit-codes. */
export const EXIT = { refused: 1, usage: 2, network: 3, interrupted: 130 } as const;

/** The command can't be executed with these arguments. */
export class UsageError extends Error {}

/** The command was executed, but what it started has failed. */
export class FailedError extends Error {}

/** The person has pressed Ctrl-C at a question. */
export class InterruptedError extends Error {}

/** Masks keys, which users may have typed in the wrong place. */
const withoutKeys = (text: string) => text.replace(/tnt_[\w-]+/g, "tnt_…");

/** Returns the message of the innermost cause, such as `connect ECONNREFUSED 127.0.0.1:8787`. */
function reasonOf(error: unknown): string {
	if (!(error instanceof Error)) return String(error);
	if (error.cause instanceof Error) return reasonOf(error.cause);
	const [first] = error instanceof AggregateError ? error.errors : [];
	return first instanceof Error ? first.message : error.message;
}

function linesOf(error: TenantryError, url: string) {
	if (error.status === 0)
		return [
			`No response from ${url}: ${error.code === "timeout" ? error.detail : reasonOf(error)}`,
		];
	const field = error.attr === null ? "" : ` (${error.attr})`;
	const request = error.requestId === null ? "" : `, request ${error.requestId}`;
	return [`${error.detail}${field}`, `${error.status} ${error.code}${request}`];
}

export function print(lines: string[]) {
	const [first = "", ...rest] = lines.map((line) => withoutKeys(line).replace(/\s+/g, " ").trim());
	const { stderr } = streams();
	stderr.write(`${[`${paint("red", "Error:", stderr)} ${first}`, ...rest].join("\n")}\n`);
}

/** Prints why a command failed, and returns its exit code. */
export function report(error: unknown, url: string): number {
	if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage;
	if (error instanceof InterruptedError) return EXIT.interrupted;
	if (error instanceof TenantryError) {
		print(linesOf(error, url));
		return error.status === 0 ? EXIT.network : EXIT.refused;
	}
	print([error instanceof Error ? error.message : String(error)]);
	return error instanceof UsageError || error instanceof TypeError ? EXIT.usage : EXIT.refused;
}
