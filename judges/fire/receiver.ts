/** A receiver for the HTTP destination that fails a fifth of all posts, in four ways. */
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseExact } from "../../src/lib/lossless_json.ts";
import { listen } from "../../test/support/peers.ts";
import type { Random } from "../../test/support/random.ts";

const FAILING = 0.2;

/** A run fails after five failed tries in a row; kills of the server count, too. */
const MAX_FAILURES_IN_A_ROW = 2;

const SILENCE_MS = 5_000;

const WAYS = ["503", "429", "closed after storing", "silent, then closed"] as const;

/**
 * Starts a receiver that accepts each Idempotency-Key once.
 * @param folder gets `events.jsonl`, with one event per line
 */
export async function startReceiver(folder: string, random: Random) {
	mkdirSync(folder, { recursive: true });
	const counts = {
		posts: 0,
		failed: Object.fromEntries(WAYS.map((way) => [way, 0])),
		/** Posts with a repeated Idempotency-Key. */
		repeated: 0,
		/** Keys with two different bodies, and posts without a key. */
		conflicts: 0,
	};
	const digests = new Map<string, string>();
	const failures = new Map<string, number>();

	function store(key: string, body: string) {
		const digest = createHash("sha256").update(body).digest("hex");
		const known = digests.get(key);
		if (key === "" || (known !== undefined && known !== digest)) counts.conflicts += 1;
		if (known !== undefined) {
			counts.repeated += 1;
			return;
		}
		digests.set(key, digest);
		const { batch }: { batch: object[] } = parseExact(body);
		appendFileSync(
			`${folder}/events.jsonl`,
			batch.map((event) => `${JSON.stringify(event)}\n`).join(""),
		);
	}

	async function answer(request: IncomingMessage, response: ServerResponse) {
		const chunks: Uint8Array[] = [];
		for await (const chunk of request) chunks.push(chunk);
		const body = Buffer.concat(chunks).toString();
		const key = String(request.headers["idempotency-key"] ?? "");
		counts.posts += 1;
		const failed = failures.get(key) ?? 0;
		if (failed === MAX_FAILURES_IN_A_ROW || !random.chance(FAILING)) {
			failures.delete(key);
			store(key, body);
			response.end("{}");
			return;
		}
		failures.set(key, failed + 1);
		const way = random.pick(WAYS);
		counts.failed[way] = (counts.failed[way] ?? 0) + 1;
		switch (way) {
			case "503":
				response.writeHead(503, { "retry-after": "1" }).end();
				return;
			case "429":
				response.writeHead(429).end();
				return;
			case "closed after storing":
				store(key, body);
				request.socket.destroy();
				return;
			case "silent, then closed":
				await sleep(SILENCE_MS);
				request.socket.destroy();
		}
	}

	const port = await listen(
		createServer((request, response) => {
			// The request breaks off if the server is killed while it sends it.
			answer(request, response).catch(() => request.socket.destroy());
		}),
	);
	return { url: `http://127.0.0.1:${port}/`, counts };
}
