/**
 * Clients that post events until a given time, and record what they sent and what was acknowledged.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { HANG_MS } from "../../test/support/hang.ts";
import { type Random, seeded } from "../../test/support/random.ts";
import { type Event, eventOf, toJson } from "./events.ts";

const CLIENTS = 4;

/** The API takes 1 MiB at most. */
const MAX_BATCH_BYTES = 1_000_000;

const MAX_BATCH_EVENTS = 300;
const MAX_PAUSE_MS = 1_000;
const RETRY_MS = 500;

/**
 * The share of batches without a response that are never sent again, and of acknowledged ones that
 * are sent again.
 */
const GIVEN_UP = 0.1;
const REPEATED = 0.05;

type Posted = {
	events: number;
	acknowledged: number;
	posts: number;
	/** Posts without a response, or with an error. */
	lost: number;
	/** Batches that were sent again after they had been acknowledged. */
	repeated: number;
	/** Batches that a client gave up on. */
	givenUp: number;
};

function batchOf(random: Random) {
	const size = random.pick([1, random.integer(2, MAX_BATCH_EVENTS)]);
	const events: Event[] = [];
	let bytes = 0;
	for (let i = 0; i < size; i += 1) {
		const event = eventOf(random);
		bytes += Buffer.byteLength(toJson(event)) + 1;
		if (bytes > MAX_BATCH_BYTES) break;
		events.push(event);
	}
	return events;
}

/**
 * Posts until `until`, in milliseconds since 1970.
 * @param folder gets `sent.jsonl` and `acknowledged.jsonl`
 * @throws if the service permanently rejects events
 */
export async function postEvents(
	events: { url: string; key: string },
	folder: string,
	until: number,
	seed: number,
): Promise<Posted> {
	const posted = {
		events: 0,
		acknowledged: 0,
		posts: 0,
		lost: 0,
		repeated: 0,
		givenUp: 0,
	};
	const record = (name: string, lines: string[]) =>
		appendFileSync(`${folder}/${name}.jsonl`, `${lines.join("\n")}\n`);

	/** Whether the batch was acknowledged. */
	async function post(batch: Event[]) {
		posted.posts += 1;
		const response = await fetch(events.url, {
			method: "POST",
			body: batch.map(toJson).join("\n"),
			headers: {
				authorization: `Bearer ${events.key}`,
				"content-type": "application/x-ndjson",
			},
			signal: AbortSignal.timeout(HANG_MS),
		})
			.then(async (response) => ({
				status: response.status,
				text: await response.text(),
			}))
			.catch(() => undefined);
		if (response?.status === 200) return true;
		if (response && response.status < 500) throw new Error(`Events were refused: ${response.text}`);
		posted.lost += 1;
		return false;
	}

	async function client(random: Random) {
		while (Date.now() < until) {
			const batch = batchOf(random);
			posted.events += batch.length;
			record(
				"sent",
				batch.map((event) => JSON.stringify(event)),
			);
			let acknowledged = await post(batch);
			while (!acknowledged && !random.chance(GIVEN_UP)) {
				await sleep(RETRY_MS);
				acknowledged = await post(batch);
			}
			if (acknowledged) {
				posted.acknowledged += batch.length;
				record(
					"acknowledged",
					batch.map(({ uuid }) => JSON.stringify({ uuid })),
				);
			} else posted.givenUp += 1;
			await sleep(random.integer(0, MAX_PAUSE_MS));
			if (acknowledged && random.chance(REPEATED)) {
				posted.repeated += 1;
				await post(batch);
			}
		}
	}

	await Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(seeded(seed + i))));
	return posted;
}
