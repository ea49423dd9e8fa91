/** Where a worker starts, and how it saves its progress (deliver.ts). */
import { and, eq, getTableColumns, isNull, lte, or, sql } from "drizzle-orm";
import type { DeliveryMessage } from "../../access/deliveries.ts";
import { type Database, runBatch } from "../../db/client.ts";
import { iso, now } from "../../db/now.ts";
import { recordEvent } from "../../db/record.ts";
import { type Delivery, webhooks } from "../../db/schema/webhooks.ts";
import type { EventRow } from "../events/event.ts";
import type { Outcome } from "./attempt.ts";
import { withDeliveries } from "./delivery_rows.ts";
import { isPending, pendingOf, selectPending } from "./pending.ts";
import { MAX_FAILING_MS, nextAttempt } from "./retries.ts";
import { nameOf } from "./shape.ts";

/** The length of a lease: longer than an attempt, including the work before and after it. */
const LEASE_MS = 45_000;

/** Machines' times differ: a message may arrive before its webhook is due on this machine. */
const CLOCK_SKEW_MS = 1000;

const { deliveries: _, ...columns } = getTableColumns(webhooks);

export type Webhook = Omit<typeof webhooks.$inferSelect, "deliveries">;

/** The results of some attempts. */
export type Round = {
	/** The attempts. All have succeeded, except the last one if there is a `failure`. */
	deliveries: Delivery[];
	/** The position of the last event that was delivered, or that the webhook doesn't receive. */
	position: number;
	failure: Outcome | undefined;
};

const leaseEnd = () => iso(Date.now() + LEASE_MS);

/** WHERE clause: this worker has the lease. */
const isMine = ({ id, lease }: Pick<Webhook, "id" | "lease">) =>
	and(eq(webhooks.id, id), eq(webhooks.lease, lease ?? ""));

/**
 * Takes a lease on a due webhook, and returns it with its next events. Undefined if it isn't due, or another worker has a lease.
 */
export async function claim(
	db: Database,
	{ webhook: id, lease: handedOver = "" }: DeliveryMessage,
) {
	const lease = crypto.randomUUID();
	const columnOf = (name: string) =>
		sql`(select ${sql.raw(name)} from webhooks where id = ${id} and lease = ${lease})`;
	const pending = selectPending(db, {
		organization: columnOf("organization_id"),
		after: columnOf("position"),
		selectors: columnOf("selectors"),
	});
	const [[webhook], events, [end]] = await db.batch([
		db
			.update(webhooks)
			.set({ lease, leased_until: leaseEnd() })
			.where(
				and(
					eq(webhooks.id, id),
					eq(webhooks.enabled, true),
					lte(webhooks.next_attempt_at, iso(Date.now() + CLOCK_SKEW_MS)),
					or(
						isNull(webhooks.leased_until),
						lte(webhooks.leased_until, now()),
						eq(webhooks.lease, handedOver),
					),
				),
			)
			.returning(columns),
		pending.events,
		pending.end,
	]);
	return webhook && { webhook, events, end: end?.position };
}

/** Returns the changes of the row after events were delivered. The lease ends if there are no more. */
function afterSuccess(webhook: Webhook, { deliveries, position }: Round, rest: EventRow[]) {
	const more = rest.length > 0 ? sql`true` : isPending(pendingOf(webhook, position));
	return {
		position,
		...(deliveries.length > 0 && { failures: 0, failing_since: null, last_error: null }),
		next_attempt_at: sql<string>`case when ${more} then ${now()} end`,
		leased_until: sql<string>`case when ${more} then ${leaseEnd()} end`,
	};
}

/** Returns why the service disables a webhook after a failure; null if it doesn't. */
function whyDisabled({ isGone }: Outcome, failingSince: number) {
	if (isGone) return "The endpoint answered 410 (Gone).";
	const isTooLong = Date.now() - failingSince >= MAX_FAILING_MS;
	return isTooLong ? "No event could be delivered for five days." : null;
}

/** Returns the changes of the row after a failed attempt. The lease ends. */
function afterFailure(webhook: Webhook, { deliveries, position }: Round, failure: Outcome) {
	const hasSucceeded = deliveries.length > 1;
	const failing_since = (!hasSucceeded && webhook.failing_since) || now();
	const failures = hasSucceeded ? 1 : webhook.failures + 1;
	const disabled_reason = whyDisabled(failure, Date.parse(failing_since));
	return {
		position,
		failures,
		failing_since,
		last_error: failure.error,
		leased_until: null,
		enabled: disabled_reason === null,
		disabled_reason,
		next_attempt_at:
			disabled_reason === null
				? iso(
						nextAttempt(Date.now(), {
							failures,
							failingSince: Date.parse(failing_since),
							retryAfter: failure.retry_after,
						}),
					)
				: null,
	};
}

/**
 * Saves the results, if the worker still has the lease.
 * @param rest the events that were read but not sent yet
 * @returns the webhook and the next events; undefined if the webhook was deleted, changed or disabled
 */
export async function recordRound(db: Database, webhook: Webhook, round: Round, rest: EventRow[]) {
	const { deliveries, failure, position } = round;
	const stillMine = sql`exists (select 1 from webhooks where ${isMine(webhook)})`;
	const failed = failure && afterFailure(webhook, round, failure);
	const reason = failed?.disabled_reason;
	const next =
		failed || rest.length > 0 ? undefined : selectPending(db, pendingOf(webhook, position));
	const event = {
		activity: "disabled" as const,
		scope: "Webhook" as const,
		item_id: webhook.id,
		name: nameOf(webhook),
		trigger: { reason, error: failure?.error },
		organization: sql`${webhook.organization_id}`,
		project: sql`null`,
	};
	const { rows, events, end } = await runBatch(db, {
		event: reason ? recordEvent(db, event, stillMine) : undefined,
		rows: db
			.update(webhooks)
			.set({
				...(failed ?? afterSuccess(webhook, round, rest)),
				...(deliveries.length > 0 && { deliveries: withDeliveries(deliveries) }),
			})
			.where(isMine(webhook))
			.returning(columns),
		events: next?.events,
		end: next?.end,
	});
	const [row] = rows;
	return row && { webhook: row, events: events ?? rest, end: end?.[0]?.position };
}
