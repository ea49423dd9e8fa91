import { and, eq, isNull, lt, ne, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import { insertEach } from "../db/client.ts";
import { personalApiKeyDays, personalApiKeys } from "../db/schema/personal_api_keys.ts";
import type { App } from "../env.ts";
import { logWarning } from "../lib/log.ts";
import { Sums } from "../lib/sums.ts";
import { DAY_MS, HOUR_MS, iso, now } from "../lib/time.ts";
import { addressOf } from "./addresses.ts";
import { expiryOf } from "./lifetime.ts";

/*
 * Counts the use of keys (docs/keys.md#use-by-day). Each isolate adds up its requests, and writes
 * the sums when no more requests come, or after an hour. So no request waits for the write, and a
 * key that is always in use costs one row an hour.
 */

type Use = typeof personalApiKeyDays.$inferInsert;

/** The maximum length of an IP address as text (RFC 4291, section 2.2). */
const MAX_ADDRESS_CHARACTERS = 45;

/** Adds the sums to those of other isolates. Keys that have been deleted since are skipped. */
const insert = ({ DB }: Env, uses: Use[]) =>
	insertEach(drizzle(DB), personalApiKeyDays, {
		rows: uses,
		condition: sql`exists (select 1 from ${personalApiKeys} where ${personalApiKeys.id} = value ->> 'key_id')`,
	}).onConflictDoUpdate({
		target: [personalApiKeyDays.key_id, personalApiKeyDays.day],
		set: {
			requests: sql`requests + excluded.requests`,
			refusals: sql`refusals + excluded.refusals`,
			last_address: sql`coalesce(excluded.last_address, last_address)`,
		},
	});

const sums = new Sums<Use>({
	max: 1_000,
	maxAgeMs: HOUR_MS,
	merge: (before, use) => ({
		...use,
		requests: before.requests + use.requests,
		refusals: before.refusals + use.refusals,
		last_address: use.last_address ?? before.last_address ?? null,
	}),
	write: insert,
	onError: (error) => logWarning("The use of keys was not written", error),
});

/** Counts a request of a key. Sums are written after `USAGE_FLUSH_SECONDS`, or an hour. */
export function countUse(c: Context<App>, key_id: string, status: number) {
	const refusals = [401, 403, 429].includes(status) ? 1 : 0;
	const last_address = addressOf(c)?.slice(0, MAX_ADDRESS_CHARACTERS) ?? null;
	const day = now().slice(0, 10);
	sums.add(`${key_id} ${day}`, { key_id, day, requests: 1, refusals, last_address });
	sums.writeLater(c, Number(c.env.USAGE_FLUSH_SECONDS) * 1000);
}

const RETENTION_MS = 90 * DAY_MS;

/**
 * Deletes days older than the retention period, at most 10,000. It looks at each key: an index by
 * day would cost a written row for each key and day.
 */
export async function deleteOldDays({ DB }: Env, at: number) {
	const before = iso(at - RETENTION_MS).slice(0, 10);
	const { key_id, day } = personalApiKeyDays;
	const db = drizzle(DB);
	const old = db
		.select({ key_id, day })
		.from(personalApiKeys)
		.crossJoin(personalApiKeyDays)
		.where(and(eq(key_id, personalApiKeys.id), lt(day, before)))
		.limit(10_000);
	await db.delete(personalApiKeyDays).where(sql`(key_id, day) in ${old}`);
}

type Used = {
	key: { id: string; expires_at: string | null };
	last_used_at: string | null;
	is_session: boolean;
};

/**
 * Returns how often the use of a key is noted, in ms: each hour or, for a session that would expire
 * earlier than four hours after its last use, four times before then.
 */
const intervalOf = ({ key, last_used_at, is_session }: Used) =>
	is_session && key.expires_at !== null && last_used_at !== null
		? Math.min(HOUR_MS, (Date.parse(key.expires_at) - Date.parse(last_used_at)) / 4)
		: HOUR_MS;

/**
 * Updates a key's `last_used_at` at most once an hour, without delaying the response. The same
 * update extends a session (docs/keys.md#how-long-a-session-lasts).
 */
export function noteUse({ env, executionCtx }: Context<App>, used: Used) {
	const before = iso(Date.now() - intervalOf(used));
	if (used.last_used_at !== null && used.last_used_at > before) return;
	const { id, user_id, last_used_at, expires_at, created_at } = personalApiKeys;
	const end = expiryOf(user_id, sql`${created_at}`);
	const isDue = and(
		eq(id, used.key.id),
		or(isNull(last_used_at), lt(last_used_at, before)),
		// At the end of its longest duration, a session isn't extended any more.
		used.is_session
			? or(lt(last_used_at, iso(Date.now() - HOUR_MS)), ne(expires_at, end))
			: undefined,
	);
	const update = drizzle(env.DB)
		.update(personalApiKeys)
		.set({ last_used_at: now(), ...(used.is_session && { expires_at: end }) });
	executionCtx.waitUntil(update.where(isDue).run());
}
