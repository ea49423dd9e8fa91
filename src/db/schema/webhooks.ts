import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { boolean, created_at, id, list } from "./columns.ts";
import { organizations } from "./organizations.ts";

/** The reason for a delivery. */
export const DELIVERY_REASONS = ["event", "replay", "test"] as const;

export const DELIVERY_STATUSES = ["delivered", "failed"] as const;

/** The endpoints that receive an organization's events (docs/webhooks.md). The events after `position` in the feed are due. */
export const webhooks = sqliteTable(
	"webhooks",
	{
		id: id(),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		url: text().notNull(),
		/** Empty: all types. */
		types: list<string>(),
		/** The types in the form that a trigger compares, see src/webhooks/types.ts. */
		selectors: list<string>(),
		description: text().notNull().default(""),
		enabled: boolean().notNull().default(true),
		/** Why the service disabled the webhook; null if it didn't. */
		disabled_reason: text(),
		/** Encrypted. */
		secret: text().notNull(),
		/** The previous secret, encrypted, and until when it also signs requests. */
		previous_secret: text(),
		previous_secret_expires_at: text(),
		/** The position in the feed of the last event that was delivered or skipped. */
		position: integer().notNull(),
		/** The number of failed attempts of the next event. */
		failures: integer().notNull().default(0),
		/** When the first attempt after the last success failed. */
		failing_since: text(),
		last_error: text(),
		/** When the next event is due; null if there is none. A trigger sets it when an event is written. */
		next_attempt_at: text(),
		/** The worker that delivers, null while it is being started; and until when no other worker can. */
		lease: text(),
		leased_until: text(),
		/** The number of events that were deleted before they were delivered; maintained by a trigger. */
		missed_events: integer().notNull().default(0),
		created_at: created_at(),
	},
	(t) => [
		index("webhooks_organization").on(t.organization_id, t.id),
		index("webhooks_due").on(t.next_attempt_at).where(sql`enabled and next_attempt_at is not null`),
	],
);

/** The latest attempts to deliver events to a webhook. */
export const webhookDeliveries = sqliteTable(
	"webhook_deliveries",
	{
		webhook_id: text()
			.notNull()
			.references(() => webhooks.id, { onDelete: "cascade" }),
		/** The number of the attempt, over all events of the webhook. */
		number: integer().notNull(),
		id: text().notNull().$defaultFn(v7),
		event_id: text().notNull(),
		type: text().notNull(),
		reason: text({ enum: DELIVERY_REASONS }).notNull().default("event"),
		/** The number of the attempt for this event. */
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
