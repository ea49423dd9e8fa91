import { logWarning } from "../lib/log.ts";
import { type Key, keyRecord } from "./keys.ts";

/*
 * A cache of key records in the isolate, so that a busy key's requests don't read KV, and in KV. Access doesn't depend on them:
 * the guard compares each request with D1, and D1 is queried before a request is rejected because of a record
 * (docs/keys.md#the-kv-record).
 */

/** How long the isolate caches a record, in milliseconds. */
const CACHE_MS = 30_000;

/** The maximum number of records in the isolate. Beyond it, the oldest are removed. */
export const MAX_CACHED = 1_000;

/** By digest, oldest first. Not promises: a promise from a cancelled request would never settle. */
const records = new Map<string, { key: Key; since: number }>();

/** Returns a key's record from the isolate by its digest; undefined if there is none, or it is too old. */
export function get(hash: string): Key | undefined {
	const record = records.get(hash);
	if (!record) return undefined;
	const age = Date.now() - record.since;
	// Negative if the clock was set back.
	return age >= 0 && age < CACHE_MS ? record.key : undefined;
}

/** Caches a record in the isolate, replacing an older one. */
export function set(hash: string, key: Key) {
	records.delete(hash);
	records.set(hash, { key, since: Date.now() });
	const [oldest] = records.keys();
	if (records.size > MAX_CACHED && oldest !== undefined) records.delete(oldest);
}

/** Removes a record from the isolate. */
export const remove = (hash: string) => records.delete(hash);

const kvKey = (hash: string) => `key:${hash}`;

/**
 * Reads a key's record from KV by its digest, and caches it in the isolate. The record may be a minute old.
 * @returns undefined if there is none, or its format is from another version of this code
 */
export async function read({ KEYS }: Env, hash: string): Promise<Key | undefined> {
	const record = await KEYS.get(kvKey(hash), { type: "json", cacheTtl: 60 });
	const { data } = keyRecord().safeParse(record);
	// A record that another request has cached in the meantime is newer.
	if (data && !get(hash)) set(hash, data);
	return data;
}

/** Logs the error instead of throwing it: D1 is authoritative, so the next request only needs another round trip. */
const logKvError = (error: unknown) => logWarning("KV was not written", error);

/** Stores a key's record in KV and in the isolate. */
export function cache({ KEYS }: Env, hash: string, key: Key) {
	set(hash, key);
	return KEYS.put(kvKey(hash), JSON.stringify(key)).catch(logKvError);
}

/** Removes a key's record from KV and from the isolate. */
export function evict({ KEYS }: Env, hash: string) {
	remove(hash);
	return KEYS.delete(kvKey(hash)).catch(logKvError);
}
