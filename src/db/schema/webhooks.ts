import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { boolean, created_at, id, lease, list } from "./columns.ts";
import { organizations } from "./organizations.ts";

/** The reason for a delivery. */
export const DELIVERY_REASONS = ["event", "replay", "test"] as const;

export const DELIVERY_STATUSES = ["delivered", "failed"] as const;

/** The formats of messages (docs/webhooks.md#formats). */
export const FORMATS = ["standard", "slack", "teams", "pagerduty"] as const;

export type Format = (typeof FORMATS)[number];

/** An attempt to deliver an event. */
export type Delivery = {
	id: string;
	event_id: string;
	/** The event's position in the feed; 0 for a test. */
	position: number;
	type: string;
	reason: (typeof DELIVERY_REASONS)[number];
	/** The number of the attempt for this event. */
	attempt: number;
	status: (typeof DELIVERY_STATUSES)[number];
	/** null: there was no response. */
	response_status: number | null;
	duration_ms: number;
	/** null: it was delivered. */
	error: string | null;
	created_at: string;
};

/**
 * Endpoints of an organization (docs/webhooks.md). Events after `position` are due.
 *
 * Trigger `webhooks_access`, after a delete: deletes the access controls about the webhook.
 */
export const webhooks = sqliteTable(
	"webhooks",
	{
		id: id(),
		organization_id: integer()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		format: text({ enum: FORMATS }).notNull().default("standard"),
		url: text().notNull(),
		/** The key of the integration at PagerDuty, encrypted; null for other formats. */
		routing_key: text(),
		/** Empty: all types. */
		types: list<string>(),
		/** The types as `activity_log_webhooks` compares them, see src/activity/webhooks/queries.ts. */
		selectors: list<string>(),
		description: text().notNull().default(""),
		enabled: boolean().notNull().default(true),
		/** Whether events say where their requests came from. */
		has_origin: boolean().notNull().default(false),
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
		attempts: integer().notNull().default(0),
		/** When the first attempt after the last success failed. */
		failing_since: text(),
		last_error: text(),
		/**
		 * When the next event is due; null if there is none. The trigger `activity_log_webhooks` sets
		 * it when an event is written. It has no index, because an event would write a row more: the
		 * schedule reads all webhooks.
		 */
		next_attempt_at: text(),
		...lease(),
		/** The number of events that were deleted before they were delivered. */
		missed_events: integer().notNull().default(0),
		created_at: created_at(),
		/** The latest attempts, newest first. The last column, so that others are read without it. */
		deliveries: list<Delivery>(),
	},
	(t) => [index("webhooks_organization").on(t.organization_id, t.id)],
);
