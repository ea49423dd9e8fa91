import { lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { iso } from "../db/now.ts";
import { webhooks } from "../db/schema/webhooks.ts";
import { MINUTE_MS } from "../http/durations.ts";
import { wake } from "../tenant/wake.ts";

/** How many webhooks one tick wakes. Those that are due for longest come first. */
const WAKE_BATCH_SIZE = 1000;

/** The most messages that a queue accepts in one batch. */
const MAX_BATCH_MESSAGES = 100;

/**
 * Runs every minute: sends a message for each webhook that is due before the next tick, delayed until
 * then. A webhook whose worker may still be alive gets its message when the lease expires, so that a
 * worker that was killed is missed for a minute at most.
 */
export async function tick(env: Env, at: number) {
	const { id, next_attempt_at, lease, leased_until } = webhooks;
	const due = await drizzle(env.DB)
		.select({ id, next_attempt_at, lease, leased_until })
		.from(webhooks)
		// As in the index, which is partial.
		.where(sql`${webhooks.enabled} and ${lte(next_attempt_at, iso(at + MINUTE_MS))}`)
		.orderBy(next_attempt_at)
		.limit(WAKE_BATCH_SIZE);
	const messages = due.map((row) => {
		// Without a lease it is only reserved for a worker, whose message may have been lost.
		const busyUntil = row.lease === null ? null : row.leased_until;
		const moments = [row.next_attempt_at, busyUntil].map((text) => Date.parse(text ?? ""));
		const wait = Math.max(0, ...moments.filter((moment) => moment > at)) - at;
		return { webhook: row.id, delaySeconds: Math.max(0, Math.ceil(wait / 1000)) };
	});
	for (let i = 0; i < messages.length; i += MAX_BATCH_MESSAGES)
		await wake(env, messages.slice(i, i + MAX_BATCH_MESSAGES));
}
