import { and, eq, getTableColumns, lte, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type { Database } from "../db/client.ts";
import { now } from "../db/now.ts";
import { webhookDeliveries } from "../db/schema/webhooks.ts";
import type { Outcome } from "./attempt.ts";

/** The number of stored attempts per webhook. */
const MAX_DELIVERIES = 100;

const { webhook_id, number } = webhookDeliveries;

/** SQL for the number of a webhook's last attempt. */
const lastNumber = (webhook: string) =>
	sql`(select coalesce(max(made.number), 0) from webhook_deliveries as made where made.webhook_id = ${webhook})`;

type Attempt = Pick<
	typeof webhookDeliveries.$inferInsert,
	"event_id" | "type" | "reason" | "attempt"
> &
	Outcome & { id?: string };

/** Converts an attempt to a row. */
export const toDelivery = (
	webhook: string,
	{ event_id, type, reason = "event", attempt = 1, ...outcome }: Attempt,
) => ({
	webhook_id: webhook,
	id: outcome.id ?? v7(),
	event_id,
	type,
	reason,
	attempt,
	status: outcome.error === null ? ("delivered" as const) : ("failed" as const),
	response_status: outcome.response_status,
	duration_ms: outcome.duration_ms,
	error: outcome.error,
	created_at: now(),
});

/** Returns a statement that stores attempts, in order, if `condition` is true. */
export function insertDeliveries(
	db: Database,
	webhook: string,
	rows: ReturnType<typeof toDelivery>[],
	condition = sql`true`,
) {
	const kept = rows.slice(-MAX_DELIVERIES);
	const values = Object.keys(getTableColumns(webhookDeliveries)).map((name) =>
		name === "number" ? sql`${lastNumber(webhook)} + key + 1` : sql`value ->> ${name}`,
	);
	return db
		.insert(webhookDeliveries)
		.select(
			sql`select ${sql.join(values, sql`, `)} from json_each(${JSON.stringify(kept)}) where ${condition}`,
		);
}

/** Returns a statement that deletes the oldest attempts. */
export const deleteOldDeliveries = (db: Database, webhook: string) =>
	db
		.delete(webhookDeliveries)
		.where(
			and(eq(webhook_id, webhook), lte(number, sql`${lastNumber(webhook)} - ${MAX_DELIVERIES}`)),
		);
