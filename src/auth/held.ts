import type { Key } from "./keys.ts";

/*
 * Records of keys that this isolate holds, so that requests of a busy key don't read KV. They decide nothing: the guard
 * compares the request with D1 each time, and D1 is asked before a record forbids anything (docs/keys.md#the-kv-record).
 */

/** How long a record is held. */
export const HELD_MS = 30_000;

/** How many records are held. With more, the oldest go. */
export const MAX_HELD = 1_000;

/** By digest, the oldest first. Not promises of them: one that a cancelled request leaves behind never settles. */
const records = new Map<string, { key: Key; since: number }>();

/** The record that is held under the digest; undefined if there is none, or it is too old. */
export function held(hash: string): Key | undefined {
	const record = records.get(hash);
	if (!record) return undefined;
	const age = Date.now() - record.since;
	// Negative if the clock was set back.
	return age >= 0 && age < HELD_MS ? record.key : undefined;
}

/** Holds a record in place of an older one. */
export function hold(hash: string, key: Key) {
	records.delete(hash);
	records.set(hash, { key, since: Date.now() });
	const [oldest] = records.keys();
	if (records.size > MAX_HELD && oldest !== undefined) records.delete(oldest);
}

export const release = (hash: string) => records.delete(hash);
