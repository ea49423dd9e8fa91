/** Where a worker starts, and how it saves its progress (deliver.ts). */
import { and, eq, getTableColumns, sql } from "drizzle-orm";
import { commitIfCurrent } from "../../access/unit_of_work.ts";
import { assertExists, type Connected, type Database, runBatch } from "../../db/client.ts";
import { bySystem } from "../../db/record.ts";
import { type Delivery, webhooks } from "../../db/schema/webhooks.ts";
import { backoff } from "../../delivery/backoff.ts";
import { isDue, isHeld, NO_LEASE, newLease } from "../../delivery/lease.ts";
import { DAY_MS, HOUR_MS, iso, MINUTE_MS, now } from "../../lib/time.ts";
import type { EventRow } from "../events/event.ts";
import { type Attempt, withDeliveries } from "./attempt.ts";
import { isPending, pendingOf, selectPending } from "./pending.ts";
import { nameOf } from "./shape.ts";

/** The length of a lease: longer than an attempt, including the work before and after it. */
const LEASE_MS = 45_000;

/** Machines' times differ: a message may arrive before its webhook is due on this machine. */
const CLOCK_SKEW_MS = 1000;

/** How long an endpoint can fail before it is disabled. */
const MAX_FAILING_MS = 5 * DAY_MS;

/** The delays between the attempts of an event (docs/webhooks.md#retries). */
const delayAfter = backoff(
	[5000, 5 * MINUTE_MS, 30 * MINUTE_MS, ...[2, 5, 10, 14, 20].map((hours) => hours * HOUR_MS)],
	{ maxAsked: 20 * HOUR_MS, jitter: 0.1 },
);

const { deliveries: _, ...columns } = getTableColumns(webhooks);

export type Webhook = Omit<typeof webhooks.$inferSelect, "deliveries">;

/** The results of some attempts. */
export type Batch = {
	/** The attempts. All have succeeded, except the last one if there is a `failure`. */
	deliveries: Delivery[];
	/** The position of the last event that was delivered, or that the webhook doesn't receive. */
	position: number;
	failure: Attempt | undefined;
};

const leaseEnd = () => iso(Date.now() + LEASE_MS);

/** Takes a lease on a webhook. Returns it with its next events; undefined if it isn't due. */
export async function take(db: Database, id: string) {
	const lease_expires_at = leaseEnd();
	const columnOf = (name: string) =>
		sql`(select ${sql.raw(name)} from webhooks where id = ${id} and lease_expires_at = ${lease_expires_at})`;
	const pending = selectPending(db, {
		organization: columnOf("organization_id"),
		after: columnOf("position"),
		selectors: columnOf("selectors"),
	});
	const { taken, events, end } = await runBatch(db, {
		taken: db
			.update(webhooks)
			.set(newLease(webhooks, lease_expires_at))
			.where(
				and(
					eq(webhooks.id, id),
					eq(webhooks.enabled, true),
					isDue(webhooks, Date.now() + CLOCK_SKEW_MS),
				),
			)
			.returning(columns),
		...pending,
	});
	const [webhook] = taken;
	return webhook && { webhook, events, end: end[0]?.position };
}

/** Returns the changes of the row after events were delivered. */
function afterSuccess(
	webhook: Webhook,
	{ deliveries, position }: Batch,
	{ remaining, shouldStop }: { remaining: EventRow[]; shouldStop: boolean },
) {
	const more = remaining.length > 0 ? sql`true` : isPending(pendingOf(webhook, position));
	return {
		position,
		...(deliveries.length > 0 && { attempts: 0, failing_since: null, last_error: null }),
		next_attempt_at: sql<string>`case when ${more} then ${now()} end`,
		lease_expires_at: shouldStop ? null : sql<string>`case when ${more} then ${leaseEnd()} end`,
	};
}

/** Returns why the service disables a webhook after a failure; null if it doesn't. */
function whyDisabled({ delivery }: Attempt, failingSince: number) {
	if (delivery.response_status === 410) return "The endpoint answered 410 (Gone).";
	const isTooLong = Date.now() - failingSince >= MAX_FAILING_MS;
	return isTooLong ? "No event could be delivered for five days." : null;
}

/** Returns the changes of the row after a failed attempt. */
function afterFailure(webhook: Webhook, { deliveries, position }: Batch, failure: Attempt) {
	const hasSucceeded = deliveries.length > 1;
	const failing_since = (!hasSucceeded && webhook.failing_since) || now();
	const attempts = hasSucceeded ? 1 : webhook.attempts + 1;
	const disabled_reason = whyDisabled(failure, Date.parse(failing_since));
	const delay = delayAfter(attempts, (failure.retry_after ?? 0) * 1000);
	const last = Math.max(Date.parse(failing_since) + MAX_FAILING_MS, Date.now() + 1000);
	return {
		...NO_LEASE,
		position,
		attempts,
		failing_since,
		last_error: failure.delivery.error,
		enabled: disabled_reason === null,
		disabled_reason,
		next_attempt_at: disabled_reason === null ? iso(Math.min(Date.now() + delay, last)) : null,
	};
}

/**
 * Saves the results, if the worker still has the lease.
 * @param remaining the events that were read but not sent yet
 * @param shouldStop whether the worker ends its lease
 * @returns the webhook and the next events; undefined if the webhook was deleted, changed or
 * disabled
 */
export async function recordBatch(
	env: Env,
	db: Connected,
	webhook: Webhook,
	{ batch, ...rest }: { batch: Batch; remaining: EventRow[]; shouldStop: boolean },
) {
	const { remaining } = rest;
	const { deliveries, failure, position } = batch;
	const isClaimed = and(eq(webhooks.id, webhook.id), isHeld(webhooks, webhook.lease));
	const failed = failure && afterFailure(webhook, batch, failure);
	const reason = failed?.disabled_reason;
	const next =
		failed || remaining.length > 0 ? undefined : selectPending(db, pendingOf(webhook, position));
	const disabled = bySystem({
		activity: "disabled",
		scope: "Webhook",
		item_id: webhook.id,
		name: nameOf(webhook),
		trigger: { reason, error: failure?.delivery.error },
		organization: webhook.organization_id,
		project: null,
	});
	const written = await commitIfCurrent(env, db, {
		checks: [assertExists(db, webhooks, isClaimed)],
		entries: reason ? [disabled] : [],
		answers: {
			rows: db
				.update(webhooks)
				.set({
					...(failed ?? afterSuccess(webhook, batch, rest)),
					...(deliveries.length > 0 && { deliveries: withDeliveries(deliveries) }),
				})
				.where(eq(webhooks.id, webhook.id))
				.returning(columns),
			events: next?.events,
			end: next?.end,
		},
	});
	const row = written?.rows[0];
	return (
		row && { webhook: row, events: written.events ?? remaining, end: written.end?.[0]?.position }
	);
}
