import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at, id, list } from "./columns.ts";
import { organizations } from "./organizations.ts";

/** How a delivery of a webhook came about. */
export const DELIVERY_REASONS = ["event", "replay", "test"] as const;

export const DELIVERY_STATUSES = ["delivered", "failed"] as const;

/**
 * Endpoints that get an organization's events (docs/webhooks.md). What is due is known from the feed:
 * the events after `position`.
 */
export const webhooks = sqliteTable(
	"webhooks",
	{
		id: id(),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		url: text().notNull(),
		/** Empty: all types. */
		types: list<string>(),
		/** The types as a trigger compares them, see src/webhooks/types.ts. */
		selectors: list<string>(),
		description: text().notNull().default(""),
		enabled: boolean().notNull().default(true),
		/** Why the service disabled it; null if it didn't. */
		disabled_reason: text(),
		/** Encrypted. */
		secret: text().notNull(),
		/** The secret before the last roll, encrypted, and until when it signs, too. */
		previous_secret: text(),
		previous_secret_expires_at: text(),
		/** The place in the feed of the last event that was delivered or passed over. */
		position: integer().notNull(),
		/** How often the next event has failed. */
		failures: integer().notNull().default(0),
		/** When the first delivery failed after the last success. */
		failing_since: text(),
		last_error: text(),
		/** When the next event is due; null if there is none. A trigger sets it when there is one. */
		next_attempt_at: text(),
		/** The worker that delivers, and until when it keeps others from doing so; null: it is about to start. */
		lease: text(),
		leased_until: text(),
		/** Events that were deleted before they were delivered; counted by a trigger. */
		missed_events: integer().notNull().default(0),
		created_at: created_at(),
	},
	(t) => [
		index("webhooks_organization").on(t.organization_id, t.id),
		index("webhooks_due").on(t.next_attempt_at).where(sql`enabled and next_attempt_at is not null`),
	],
);

/** The last attempts to deliver events to a webhook. */
export const webhookDeliveries = sqliteTable(
	"webhook_deliveries",
	{
		webhook_id: text()
			.notNull()
			.references(() => webhooks.id, { onDelete: "cascade" }),
		/** Counts the attempts of the webhook. */
		number: integer().notNull(),
		id: text().notNull().$defaultFn(v7),
		event_id: text().notNull(),
		type: text().notNull(),
		reason: text({ enum: DELIVERY_REASONS }).notNull().default("event"),
		/** Counts the attempts at the event. */
		attempt: integer().notNull().default(1),
		status: text({ enum: DELIVERY_STATUSES }).notNull(),
		/** null: there was no response. */
		response_status: integer(),
		duration_ms: integer().notNull(),
		/** null: it was delivered. */
		error: text(),
		created_at: created_at(),
	},
	(t) => [primaryKey({ columns: [t.webhook_id, t.number] })],
);
