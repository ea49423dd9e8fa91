import { lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import { insertEach } from "../db/client.ts";
import { iso, now } from "../db/now.ts";
import { personalApiKeyDays, personalApiKeys } from "../db/schema/personal_api_keys.ts";
import type { App } from "../env.ts";
import { DAY_MS } from "../http/durations.ts";
import { logWarning } from "../log/log.ts";
import { addressOf } from "./addresses.ts";

/*
 * Counts the use of keys (docs/keys.md#use-by-day). Each isolate adds up its requests, and writes the sums after a response, so
 * that no request waits for the write.
 */

type Use = typeof personalApiKeyDays.$inferInsert;

/** The maximum number of sums in an isolate. At this number, they are written immediately. */
const MAX_SUMS = 1_000;

/** The maximum length of an IP address as text (RFC 4291, section 2.2). */
const MAX_ADDRESS_CHARACTERS = 45;

/** The sums that haven't been written yet, by key and day. */
const sums = new Map<string, Use>();

/** When the next write is due, in milliseconds since 1970. */
let dueAt = 0;

function add(use: Use) {
	const name = `${use.key_id} ${use.day}`;
	const before = sums.get(name);
	if (!before && sums.size >= MAX_SUMS) return;
	sums.set(name, {
		...use,
		requests: use.requests + (before?.requests ?? 0),
		refusals: use.refusals + (before?.refusals ?? 0),
		last_address: use.last_address ?? before?.last_address ?? null,
	});
}

/** Adds the sums to those of other isolates. Keys that have been deleted since are skipped. */
const insert = ({ DB }: Env, uses: Use[]) =>
	insertEach(
		drizzle(DB),
		personalApiKeyDays,
		uses,
		sql`exists (select 1 from ${personalApiKeys} where ${personalApiKeys.id} = value ->> 'key_id')`,
	).onConflictDoUpdate({
		target: [personalApiKeyDays.key_id, personalApiKeyDays.day],
		set: {
			requests: sql`requests + excluded.requests`,
			refusals: sql`refusals + excluded.refusals`,
			last_address: sql`coalesce(excluded.last_address, last_address)`,
		},
	});

/** Writes all sums after `delay` milliseconds. If that fails, they stay for the next write. */
async function flush(env: Env, delay = 0) {
	if (delay > 0) await scheduler.wait(delay);
	const uses = [...sums.values()];
	sums.clear();
	if (uses.length === 0) return;
	try {
		await insert(env, uses);
	} catch (error) {
		logWarning("The use of keys was not written", error);
		for (const use of uses) add(use);
	}
}

/** Counts a request of a key. The sums are written later, at most every `USAGE_FLUSH_SECONDS`. */
export function countUse(c: Context<App>, key_id: string, status: number) {
	const { env, executionCtx } = c;
	const refusals = [401, 403, 429].includes(status) ? 1 : 0;
	const last_address = addressOf(c)?.slice(0, MAX_ADDRESS_CHARACTERS) ?? null;
	add({ key_id, day: now().slice(0, 10), requests: 1, refusals, last_address });
	const delay = Number(env.USAGE_FLUSH_SECONDS) * 1000;
	if (sums.size >= MAX_SUMS) executionCtx.waitUntil(flush(env));
	else if (isDue(Date.now(), delay)) {
		dueAt = Date.now() + delay;
		executionCtx.waitUntil(flush(env, delay));
	}
}

/** Whether a write is due. It is also due if the system time was set back, so that `dueAt` is more than `delay` ahead. */
const isDue = (at: number, delay: number) => at >= dueAt || dueAt > at + delay;

const RETENTION_MS = 90 * DAY_MS;

/** Deletes days older than the retention period, at most 10,000. */
export const deleteOldDays = async ({ DB }: Env) => {
	const before = iso(Date.now() - RETENTION_MS).slice(0, 10);
	const old = sql`select key_id, day from ${personalApiKeyDays} where ${lt(personalApiKeyDays.day, before)} limit 10000`;
	await drizzle(DB).delete(personalApiKeyDays).where(sql`(key_id, day) in (${old})`);
};
