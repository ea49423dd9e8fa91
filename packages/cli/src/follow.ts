/** Follows a log. */
import { setTimeout as sleep } from "node:timers/promises";
import { InvalidArgumentError, Option } from "commander";
import { isObject, line, type Values, write } from "./output.ts";
import type { Pages } from "./session.ts";
import { cell } from "./text.ts";

/** Entries may become visible in another order than that of their times, by at most this. */
const DISORDER_MS = 60_000;

export const intervalOption = () =>
	new Option("--interval <seconds>", "how long to wait between two requests")
		.default(2)
		.argParser((text) => {
			const seconds = Number(text);
			if (!(seconds >= 0.1 && seconds <= 3600))
				throw new InvalidArgumentError("It has to be from 0.1 to 3600.");
			return seconds;
		});

export const pause = (options: Values) => sleep(Number(options.interval) * 1000);

const textOf = (entry: Values, columns: string[]) =>
	columns
		.filter((name) => ["timestamp", "level", "type", "message"].includes(name))
		.map((name) => cell(entry[name]))
		.join("  ");

/** A log's newest entries, oldest first. They come newest first. */
async function oldestFirst(entries: AsyncIterable<unknown> | unknown[]) {
	const found: Values[] = [];
	for await (const entry of entries) if (isObject(entry)) found.push(entry);
	return found.reverse();
}

/** Prints a log's newest page, then each new entry, until the program is interrupted. */
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
