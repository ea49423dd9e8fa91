import type { Key } from "./keys.ts";

/*
 * A cache of key records in the isolate, so that a busy key's requests don't read KV. Access doesn't depend on them: the guard
 * compares each request with D1, and D1 is queried before a request is rejected because of a record (docs/keys.md#the-kv-record).
 */

/** How long a record is cached, in milliseconds. */
const HELD_MS = 30_000;

/** The maximum number of cached records. Beyond it, the oldest are removed. */
export const MAX_HELD = 1_000;

/** By digest, oldest first. Not promises: a promise from a cancelled request would never settle. */
const records = new Map<string, { key: Key; since: number }>();

/** Returns the cached record of a key by its digest; undefined if there is none, or it is too old. */
export function held(hash: string): Key | undefined {
	const record = records.get(hash);
	if (!record) return undefined;
	const age = Date.now() - record.since;
	// Negative if the clock was set back.
	return age >= 0 && age < HELD_MS ? record.key : undefined;
}

/** Caches a record, replacing an older one. */
export function hold(hash: string, key: Key) {
	records.delete(hash);
	records.set(hash, { key, since: Date.now() });
	const [oldest] = records.keys();
	if (records.size > MAX_HELD && oldest !== undefined) records.delete(oldest);
}

export const release = (hash: string) => records.delete(hash);
