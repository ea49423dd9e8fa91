/** The parts that both fire tests share. */
import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import * as z from "zod";
import { fail } from "../../build/run.ts";
import { HANG_MS } from "../../test/support/hang.ts";

const RETRY_MS = 500;

/** Reads the options of the command line, whose schemas have defaults or are optional. */
export function readOptions<T extends z.ZodObject>(schema: T): z.infer<T> {
	const names = Object.keys(schema.shape).map((name) => [name, { type: "string" as const }]);
	const parsed = schema.safeParse(parseArgs({ options: Object.fromEntries(names) }).values);
	return parsed.success ? parsed.data : fail(z.prettifyError(parsed.error));
}

/** Returns the path of the folder of a command, whose files are kept if it fails. */
export function folderOf(name: string) {
	const work = resolve(import.meta.dirname, "../../.wrangler", name);
	process.on("exit", (code) => {
		if (code === 0) rmSync(work, { recursive: true, force: true });
		else console.error(`The files of this run are in ${work}.`);
	});
	return work;
}

/**
 * Returns a function that sends requests with a key. Each is repeated while the server is down, the
 * first one is in progress, or a limit is reached.
 * @param base the URL before the path
 */
export const asking =
	(base: string, key: string) =>
	async (method: string, path: string, body?: object): Promise<unknown> => {
		const headers = {
			authorization: `Bearer ${key}`,
			"content-type": "application/json",
			...(method === "POST" && { "idempotency-key": crypto.randomUUID() }),
		};
		for (;;) {
			const { status, text } = await fetch(base + path, {
				method,
				headers,
				...(body && { body: JSON.stringify(body) }),
				signal: AbortSignal.timeout(HANG_MS),
			})
				.then(async (answer) => ({ status: answer.status, text: await answer.text() }))
				.catch((error: unknown) => ({ status: 599, text: String(error) }));
			if (status < 300) return JSON.parse(text);
			if (status < 500 && status !== 409 && status !== 429)
				throw new Error(`${method} ${path}: ${text}`);
			await sleep(RETRY_MS);
		}
	};
