import { drizzle } from "drizzle-orm/d1";
import * as z from "zod";
import { enqueueDeliveries } from "../../access/deliveries.ts";
import { MINUTE_MS } from "../../lib/durations.ts";
import { type EventRow, toEvent } from "../events/event.ts";
import { attempts, type Endpoint } from "./attempt.ts";
import { toDelivery } from "./delivery_rows.ts";
import { claim, type Round, recordRound, type Webhook } from "./progress.ts";
import { openSecrets } from "./secret.ts";

/*
 * Delivers events to a webhook (docs/webhooks.md#how-events-are-delivered).
 *
 * The feed is the queue: a webhook's events are delivered up to `position`, and `next_attempt_at` is the time when the next one
 * is due. A trigger sets this time when an event is written. A worker takes a lease on the webhook (`lease`), sends the events
 * one after another, and saves its progress every second. If it is killed, another worker continues from there after the lease
 * has expired. So an event may be sent twice, but none is skipped.
 */

/** How often a worker saves its progress, in milliseconds. */
const RECORD_INTERVAL_MS = 1000;

/**
 * How long a worker sends events before another one continues, which it starts with a message. It has 30 seconds in total, and an
 * attempt can take 15 seconds.
 */
const MAX_SENDING_MS = 10_000;

/** The maximum delay of a message that is sent here. The schedule sends the messages for later attempts. */
const MAX_DELAY_MS = MINUTE_MS;

const Message = z.object({ webhook: z.string(), lease: z.string().optional() });

/** Sends events until one fails, or it is time to save the progress. */
async function send(
	attempt: ReturnType<typeof attempts>,
	endpoint: Endpoint,
	{ position, failures }: Webhook,
	events: EventRow[],
): Promise<Round> {
	const until = Date.now() + RECORD_INTERVAL_MS;
	const round: Round = { deliveries: [], position, failure: undefined };
	for (const row of events) {
		if (Date.now() > until) break;
		const event = toEvent(row);
		const { id, type } = event;
		const outcome = await attempt(endpoint, { id, payload: JSON.stringify(event) });
		const isFirst = round.deliveries.length === 0;
		round.deliveries.push(
			toDelivery({
				event_id: id,
				position: row.position,
				type,
				attempt: isFirst ? failures + 1 : 1,
				...outcome,
			}),
		);
		if (outcome.error !== null) {
			round.failure = outcome;
			break;
		}
		round.position = row.position;
	}
	return round;
}

/** Moves past events that the webhook doesn't receive. */
const skip = ({ position }: Webhook, end: number | undefined): Round => ({
	deliveries: [],
	position: end ?? position,
	failure: undefined,
});

/** After a failed attempt: plans the next one, unless the webhook was disabled. */
async function afterFailure(env: Env, { id, next_attempt_at }: Webhook) {
	if (next_attempt_at === null) return undefined;
	const delay = Date.parse(next_attempt_at) - Date.now();
	if (delay > MAX_DELAY_MS) return undefined;
	return enqueueDeliveries(env, [
		{ webhook: id, delaySeconds: Math.max(0, Math.ceil(delay / 1000)) },
	]);
}

/**
 * Delivers a webhook's events, oldest first, until there are no more, one fails, or the time is up. `message` is the body of a
 * queue message.
 */
export async function deliver(env: Env, message: unknown) {
	const db = drizzle(env.DB);
	const attempt = attempts(env);
	const until = Date.now() + MAX_SENDING_MS;
	let claimed = await claim(db, Message.parse(message));
	while (claimed) {
		const { webhook, events, end } = claimed;
		const endpoint = { url: webhook.url, secrets: openSecrets(env, webhook) };
		endpoint.secrets.catch(() => {});
		// The next events are all of other types.
		const round =
			events.length > 0 ? await send(attempt, endpoint, webhook, events) : skip(webhook, end);
		claimed = await recordRound(db, webhook, round, events.slice(round.deliveries.length));
		if (!claimed || claimed.webhook.next_attempt_at === null || round.failure) break;
		const { id, lease } = claimed.webhook;
		if (Date.now() > until)
			return enqueueDeliveries(env, [{ webhook: id, ...(lease && { lease }) }]);
	}
	return claimed && claimed.webhook.failures > 0 ? afterFailure(env, claimed.webhook) : undefined;
}
