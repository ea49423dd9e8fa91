import { lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { enqueueDeliveries } from "../../access/deliveries.ts";
import { webhooks } from "../../db/schema/webhooks.ts";
import { MINUTE_MS } from "../../lib/durations.ts";
import { iso } from "../../lib/now.ts";

/** The number of webhooks for which a tick sends messages. */
const MAX_WEBHOOKS = 1000;

/** The maximum number of messages that a queue accepts in one batch. */
const MAX_BATCH_MESSAGES = 100;

/**
 * Sends a message for each webhook that is due before the next tick, delayed until then, or until
 * its lease expires. So a killed worker is replaced within a minute.
 */
export async function enqueueDueWebhooks(env: Env, at: number) {
	const { id, next_attempt_at, lease_expires_at } = webhooks;
	const due = await drizzle(env.DB)
		.select({ id, next_attempt_at, lease_expires_at })
		.from(webhooks)
		.where(sql`${webhooks.enabled} and ${lte(next_attempt_at, iso(at + MINUTE_MS))}`)
		.orderBy(next_attempt_at)
		.limit(MAX_WEBHOOKS);
	const messages = due.map((row) => {
		const moments = [row.next_attempt_at, row.lease_expires_at].map((text) =>
			Date.parse(text ?? ""),
		);
		const wait = Math.max(0, ...moments.filter((moment) => moment > at)) - at;
		return { webhook: row.id, delaySeconds: Math.max(0, Math.ceil(wait / 1000)) };
	});
	for (let i = 0; i < messages.length; i += MAX_BATCH_MESSAGES)
		await enqueueDeliveries(env, messages.slice(i, i + MAX_BATCH_MESSAGES));
}
