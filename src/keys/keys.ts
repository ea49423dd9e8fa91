import { and, eq, or, type SQLWrapper, sql } from "drizzle-orm";
import type { Context } from "hono";
import { connect } from "../db/bookmark.ts";
import { users } from "../db/schema/people.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import type { App } from "../env.ts";
import { toBase64url } from "../lib/bytes.ts";
import { logWarning } from "../lib/log.ts";
import { DAY_MS } from "../lib/time.ts";
import { type Key, keyCache, keyRecord } from "./key_cache.ts";

export type { Key };

const { user_id, scopes, scoped_organizations, scoped_projects, allowed_ips, expires_at } =
	personalApiKeys;
const { previous_hash, previous_value_expires_at: until } = personalApiKeys;

/**
 * SQL condition: the hash is that of the key's value or of the one before it, which may have
 * expired (`recordColumns`).
 */
export const hasValue = (hash: string | SQLWrapper) =>
	or(eq(personalApiKeys.hash, hash), eq(previous_hash, hash));

/**
 * The columns of a record, without the id.
 * @param hash of the value: the one before the last roll expires earlier than the key
 */
export const recordColumns = (hash: string | SQLWrapper) => ({
	user_id,
	scopes,
	organizations: scoped_organizations,
	projects: scoped_projects,
	allowed_ips,
	expires_at: sql<
		string | null
	>`iif(${personalApiKeys.hash} = ${hash}, ${expires_at}, min(coalesce(${expires_at}, ${until}), ${until}))`.as(
		"value_expires_at",
	),
	version: personalApiKeys.version,
	audience: personalApiKeys.audience,
});

/** Returns the record of a row. */
export const toRecord = (row: typeof personalApiKeys.$inferSelect): Key => ({
	id: row.id,
	user_id: row.user_id,
	scopes: row.scopes,
	organizations: row.scoped_organizations,
	projects: row.scoped_projects,
	allowed_ips: row.allowed_ips,
	expires_at: row.expires_at,
	version: row.version,
	...(row.audience && { audience: row.audience }),
});

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const base62 = (n: bigint, length: number): string =>
	length === 0 ? "" : base62(n / 62n, length - 1) + DIGITS.charAt(Number(n % 62n));

const encoder = new TextEncoder();

/** Computes the CRC-32. `node:zlib` has it too, but would be loaded when an isolate starts. */
function crc32(text: string) {
	let crc = ~0;
	for (const byte of encoder.encode(text)) {
		crc ^= byte;
		for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 && 0xedb88320);
	}
	return ~crc >>> 0;
}

const checksum = (text: string) => base62(BigInt(crc32(text)), 6);

const PREFIX = "tnt_";

/** The prefix of the keys of apps, which are OAuth access tokens. */
export const ACCESS_TOKEN = "tnt_at_";

const randomBits = () => crypto.getRandomValues(new BigUint64Array(4));

/** Generates a key: `tnt_`, 256 bits in base62, `_`, and the CRC-32 of all that. */
export function newValue(prefix = PREFIX, bits = randomBits()) {
	const body = `${prefix}${base62(
		bits.reduce((n, word) => (n << 64n) | word, 0n),
		43,
	)}`;
	return `${body}_${checksum(body)}`;
}

/** Generates a secret that isn't a key: 256 random bits in base64url (43 characters). */
export const newToken = () => toBase64url(crypto.getRandomValues(new Uint8Array(32)));

/** Whether `value` has the format and checksum of a key. Doesn't query KV or D1. */
export function isWellFormed(value: string, prefix = PREFIX) {
	if (!value.startsWith(prefix)) return false;
	const random = value.slice(prefix.length);
	const [, bits, sum] = /^([0-9A-Za-z]{43})_([0-9A-Za-z]{6})$/.exec(random) ?? [];
	return bits !== undefined && checksum(prefix + bits) === sum;
}

/** Whether `value` has the format of a key or an access token. */
export const isKey = (value: string) => isWellFormed(value) || isWellFormed(value, ACCESS_TOKEN);

/** Returns the SHA-256 in lower-case hex. */
export async function digest(value: string) {
	const hash = await crypto.subtle.digest("SHA-256", encoder.encode(value));
	return Buffer.from(hash).toString("hex");
}

export const mask = (value: string, prefix = PREFIX) => `${prefix}…${value.slice(-4)}`;

/** Returns the value of a new key, and the columns that identify it. */
export async function newKey(prefix = PREFIX, bits = randomBits()) {
	const value = newValue(prefix, bits);
	return { value, columns: { hash: await digest(value), mask_value: mask(value, prefix) } };
}

export const isExpired = (key: Pick<Key, "expires_at">) =>
	key.expires_at !== null && Date.parse(key.expires_at) <= Date.now();

const kvKey = (hash: string) => `key:${hash}`;

/**
 * Reads a key's record from KV by its digest, and caches it in the isolate. The record may be a
 * minute old.
 * @returns undefined if there is none, or its format is from another version of this code
 */
export async function getCached({ KEYS }: Env, hash: string): Promise<Key | undefined> {
	const record = await KEYS.get(kvKey(hash), { type: "json", cacheTtl: 60 });
	const { data } = keyRecord().safeParse(record);
	// A record that another request has cached in the meantime is newer.
	if (data && !keyCache.get(hash)) keyCache.set(hash, data);
	return data;
}

/** Logs the error instead: D1 is authoritative, so the next request only needs another trip. */
const logKvError = (error: unknown) => logWarning("KV was not written", error);

/** How long KV keeps a record, in seconds. */
const RECORD_SECONDS = DAY_MS / 1000;

/** Stores a key's record in KV and in the isolate. */
export function cache({ KEYS }: Env, hash: string, key: Key) {
	keyCache.set(hash, key);
	const options = { expirationTtl: RECORD_SECONDS };
	return KEYS.put(kvKey(hash), JSON.stringify(key), options).catch(logKvError);
}

/** Removes a key's record from KV and from the isolate. */
export function evict({ KEYS }: Env, hash: string) {
	keyCache.delete(hash);
	return KEYS.delete(kvKey(hash)).catch(logKvError);
}

/** Finds the key of an active user in D1, and caches it, unless it has expired. */
export async function findKey(c: Context<App>, hash: string): Promise<Key | undefined> {
	const { db } = connect(c, "first-primary");
	const [[row]] = await db.batch([
		db
			.select({ id: personalApiKeys.id, ...recordColumns(hash) })
			.from(personalApiKeys)
			.innerJoin(users, eq(users.id, personalApiKeys.user_id))
			.where(and(hasValue(hash), eq(users.is_active, true))),
	]);
	if (!row) return undefined;
	const { audience, ...rest } = row;
	const key = { ...rest, ...(audience && { audience }) };
	if (!isExpired(key)) c.executionCtx.waitUntil(cache(c.env, hash, key));
	return key;
}

/** The row of a key and its user in a left join. */
type JoinedRow = { [K in Exclude<keyof Key, "id" | "version" | "audience">]: Key[K] | null } & {
	key_id: Key["id"] | null;
	version: string | null;
	audience: string | null;
	is_active: boolean | null;
};

/** Returns the key; undefined if it doesn't exist or has expired, or its owner isn't active. */
export function toKey({
	key_id: id,
	user_id,
	scopes,
	organizations,
	projects,
	allowed_ips,
	expires_at,
	version,
	audience,
	is_active,
}: JoinedRow): Key | undefined {
	if (!(id && user_id && scopes && organizations && projects && allowed_ips && is_active))
		return undefined;
	const key = {
		id,
		user_id,
		scopes,
		organizations,
		projects,
		allowed_ips,
		expires_at,
		...(version && { version }),
		...(audience && { audience }),
	};
	return isExpired(key) ? undefined : key;
}
