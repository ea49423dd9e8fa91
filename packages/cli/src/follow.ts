/** Prints new log entries as they appear (`--follow`). */
import { setTimeout as sleep } from "node:timers/promises";
import { InvalidArgumentError, Option } from "commander";
import { isObject, line, type Values, write } from "./output.ts";
import type { Pages } from "./session.ts";
import { cell } from "./text.ts";

/** An entry can appear after entries that are at most this much newer. */
const DISORDER_MS = 60_000;

export const intervalOption = () =>
	new Option("--interval <seconds>", "the seconds between requests")
		.default(2)
		.argParser((text) => {
			const seconds = Number(text);
			if (!(seconds >= 0.1 && seconds <= 3600))
				throw new InvalidArgumentError("It must be from 0.1 to 3600.");
			return seconds;
		});

export const pause = (options: Values) => sleep(Number(options.interval) * 1000);

const textOf = (entry: Values, columns: string[]) =>
	columns
		.filter((name) => ["timestamp", "level", "type", "message"].includes(name))
		.map((name) => cell(entry[name]))
		.join("  ");

/** Collects entries, which arrive newest first, and returns them oldest first. */
async function oldestFirst(entries: AsyncIterable<unknown> | unknown[]) {
	const found: Values[] = [];
	for await (const entry of entries) if (isObject(entry)) found.push(entry);
	return found.reverse();
}

/** Prints the newest page of a log, then new entries, until the program is interrupted. */
export async function follow(
	read: (parameters: Values) => Pages,
	columns: string[],
	options: Values,
): Promise<never> {
	const printed = new Map<unknown, number>();
	let newest = 0;
	const print = async (entries: Values[]) => {
		for (const entry of entries) {
			if (printed.has(entry.id)) continue;
			const time = Date.parse(String(entry.timestamp));
			newest = Math.max(newest, time);
			printed.set(entry.id, time);
			await (options.json ? line(entry) : write(`${textOf(entry, columns)}\n`));
		}
		for (const [id, time] of printed) if (time < newest - DISORDER_MS) printed.delete(id);
	};
	const start = Date.now();
	await print(await oldestFirst((await read({})).results));
	while (true) {
		await pause(options);
		const since = newest === 0 ? start : newest;
		const after = new Date(since - DISORDER_MS).toISOString();
		await print(await oldestFirst(read({ after })));
	}
}
