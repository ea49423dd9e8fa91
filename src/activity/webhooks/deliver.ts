import { lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import * as z from "zod";
import { enqueueDeliveries } from "../../access/wake.ts";
import { webhooks } from "../../db/schema/webhooks.ts";
import { iso, MINUTE_MS } from "../../lib/time.ts";
import type { EventRow } from "../events/event.ts";
import { attempts } from "./attempt.ts";
import { type Batch, recordBatch, take, type Webhook } from "./progress.ts";
import { type Endpoint, endpointOf } from "./secret.ts";

/*
 * Delivers events to a webhook (docs/webhooks.md#how-events-are-delivered). The feed is the queue:
 * events are delivered up to `position`, and the trigger `activity_log_webhooks` makes the webhook
 * due when an event is written. A worker saves its progress every second. If it is killed, another
 * one continues from there, so an event may be sent twice, but none is skipped.
 */

/** How often a worker saves its progress, in milliseconds. */
const RECORD_INTERVAL_MS = 1000;

/**
 * How long a worker sends events before it starts another one with a message. It has 30 seconds in
 * total, and an attempt can take 15.
 */
const MAX_SENDING_MS = 10_000;

/** The schedule sends the messages for attempts after that. */
const MAX_DELAY_MS = MINUTE_MS;

const Message = z.object({ webhook: z.string() });

/** Sends events until one fails, or it is time to save the progress. */
async function send(
	attempt: ReturnType<typeof attempts>,
	endpoint: Endpoint,
	webhook: Webhook,
	events: EventRow[],
): Promise<Batch> {
	const until = Date.now() + RECORD_INTERVAL_MS;
	const batch: Batch = { deliveries: [], position: webhook.position, failure: undefined };
	for (const event of events) {
		if (Date.now() > until) break;
		const number = batch.deliveries.length === 0 ? webhook.attempts + 1 : 1;
		const made = await attempt(endpoint, event, { reason: "event", attempt: number });
		batch.deliveries.push(made.delivery);
		if (made.delivery.error !== null) {
			batch.failure = made;
			break;
		}
		batch.position = event.position;
	}
	return batch;
}

/** Moves past events that the webhook doesn't receive. */
const skip = ({ position }: Webhook, end: number | undefined): Batch => ({
	deliveries: [],
	position: end ?? position,
	failure: undefined,
});

/** Sends a message for the next attempt, if it is due soon. */
async function continueSoon(env: Env, { id, next_attempt_at }: Webhook) {
	if (next_attempt_at === null) return;
	const delay = Math.max(0, Date.parse(next_attempt_at) - Date.now());
	if (delay <= MAX_DELAY_MS)
		await enqueueDeliveries(env, [{ webhook: id, delaySeconds: Math.ceil(delay / 1000) }]);
}

/**
 * Delivers a webhook's events, oldest first, until there are no more, one fails, or the time is up.
 * @param message the body of a queue message
 */
export async function deliver(env: Env, message: unknown) {
	const db = drizzle(env.DB);
	const attempt = attempts(env);
	const until = Date.now() + MAX_SENDING_MS;
	let taken = await take(db, Message.parse(message).webhook);
	for (let shouldStop = false; taken && !shouldStop; ) {
		const { webhook, events, end } = taken;
		const endpoint = endpointOf(env, webhook);
		// If there are none, the next events are all of other types.
		const batch =
			events.length > 0 ? await send(attempt, endpoint, webhook, events) : skip(webhook, end);
		const remaining = events.slice(batch.deliveries.length);
		taken = await recordBatch(env, db, webhook, {
			batch,
			remaining,
			shouldStop: Date.now() > until,
		});
		shouldStop = taken?.webhook.lease_expires_at === null;
	}
	if (taken) await continueSoon(env, taken.webhook);
}

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
