import { sql } from "drizzle-orm";
import { v7 } from "uuid";
import { now } from "../../db/now.ts";
import { type Delivery, webhooks } from "../../db/schema/webhooks.ts";
import type { Outcome } from "./attempt.ts";

/** The number of stored attempts per webhook. */
const MAX_DELIVERIES = 100;

type Attempt = Pick<Delivery, "event_id" | "position" | "type"> &
	Partial<Pick<Delivery, "reason" | "attempt">> &
	Outcome;

/** Converts an attempt to a delivery. */
export const toDelivery = ({
	event_id,
	position,
	type,
	reason = "event",
	attempt = 1,
	...outcome
}: Attempt): Delivery => ({
	id: v7(),
	event_id,
	position,
	type,
	reason,
	attempt,
	status: outcome.error === null ? "delivered" : "failed",
	response_status: outcome.response_status,
	duration_ms: outcome.duration_ms,
	error: outcome.error,
	created_at: now(),
});

/** SQL for a webhook's deliveries after some attempts. `made` has these in their order. */
export const withDeliveries = (made: Delivery[]) => sql<string>`(
	select json_group_array(json(value)) from (
		select value from json_each(${JSON.stringify(made.toReversed())})
		union all select value from json_each(${webhooks.deliveries})
		limit ${MAX_DELIVERIES}))`;
