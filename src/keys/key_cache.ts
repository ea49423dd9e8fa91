import * as z from "zod";
import { lazy } from "../lib/lazy.ts";

/** A key's record in KV, under `key:<SHA-256 of its value>` (docs/keys.md#the-kv-record). */
export const keyRecord = lazy(() =>
	z.object({
		id: z.string(),
		user_id: z.int(),
		scopes: z.array(z.string()),
		/** Empty: all. */
		organizations: z.array(z.string()),
		/** Empty: all. */
		projects: z.array(z.int()),
		/** IP addresses and CIDR ranges that the key can be used from. Empty or missing: all. */
		allowed_ips: z.array(z.string()).default([]),
		/** ISO 8601; null: never. */
		expires_at: z.string().nullable(),
		/** The API version that the key was created with. Missing: the first version. */
		version: z.string().optional(),
		/** The resource of an app's key (src/keys/audience.ts). Missing for other keys. */
		audience: z.string().optional(),
	}),
);
export type Key = z.infer<ReturnType<typeof keyRecord>>;

const MAX_AGE_MS = 30_000;

/** The maximum number of cached records. Beyond it, the oldest are removed. */
export const MAX_RECORDS = 1_000;

/** By digest, oldest first. Not promises: a promise from a cancelled request would never settle. */
const records = new Map<string, { key: Key; since: number }>();

/**
 * The records of keys that the isolate caches, by digest, so that a busy key's requests don't read
 * KV. Access doesn't depend on them: the guard asks D1 in each request, also before a request is
 * rejected because of a record (docs/keys.md#the-kv-record).
 */
export const keyCache = {
	get(hash: string): Key | undefined {
		const record = records.get(hash);
		if (!record) return undefined;
		const age = Date.now() - record.since;
		// Negative if the clock was set back.
		return age >= 0 && age < MAX_AGE_MS ? record.key : undefined;
	},

	set(hash: string, key: Key) {
		records.delete(hash);
		records.set(hash, { key, since: Date.now() });
		const [oldest] = records.keys();
		if (records.size > MAX_RECORDS && oldest !== undefined) records.delete(oldest);
	},

	delete: (hash: string) => records.delete(hash),
};
