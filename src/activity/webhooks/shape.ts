import * as z from "zod";
import { TYPE_FILTER } from "../../db/event_types.ts";
import { DELIVERY_REASONS, DELIVERY_STATUSES, FORMATS } from "../../db/schema/webhooks.ts";
import {
	boolean,
	choice,
	choices,
	issue,
	moment,
	set,
	text,
	timestamp,
	url,
} from "../../http/fields.ts";

/** One attempt to deliver an event (docs/webhooks.md#deliveries). */
export const WebhookDelivery = z
	.object({
		id: z.guid(),
		event_id: z.guid(),
		type: z.string(),
		reason: z.enum(DELIVERY_REASONS),
		attempt: z.int(),
		status: z.enum(DELIVERY_STATUSES),
		response_status: z.int().nullable(),
		duration_ms: z.int(),
		error: z.string().nullable(),
		created_at: timestamp(),
	})
	.meta({ id: "WebhookDelivery" });

/** docs/webhooks.md */
export const Webhook = z
	.object({
		id: z.guid(),
		format: z.enum(FORMATS),
		url: z.string(),
		types: z.array(z.string()),
		description: z.string(),
		enabled: z.boolean(),
		disabled_reason: z.string().nullable(),
		/** Only in the responses to create and roll. */
		secret: z.string().nullable(),
		previous_secret_expires_at: timestamp().nullable(),
		failing_since: timestamp().nullable(),
		last_error: z.string().nullable(),
		next_attempt_at: timestamp().nullable(),
		missed_events: z.int(),
		last_delivery: WebhookDelivery.nullable(),
		created_at: timestamp(),
	})
	.meta({ id: "Webhook" });

/** An event type, or all types with the same prefix. */
const type = text(100).check(({ value, issues }) => {
	if (!TYPE_FILTER.test(value))
		issues.push(
			issue(
				value,
				"invalid_input",
				"Enter a type such as member.updated, or member.* for all types that begin with it.",
			),
		);
});

const fields = {
	types: set(type, 100).optional(),
	description: text(400).optional(),
	enabled: boolean().optional(),
};

/** Where events of the format `pagerduty` are sent by default: PagerDuty's Events API. */
export const PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue";

export const create = z
	.object({
		format: choice(FORMATS).optional(),
		url: url().optional(),
		routing_key: text(100).min(1).optional(),
		...fields,
	})
	.check(({ value, issues }) => {
		const { format, url, routing_key } = value;
		const isPagerDuty = format === "pagerduty";
		const missing = (path: string) =>
			issues.push({ ...issue(undefined, "required", "This field is required."), path: [path] });
		if (!isPagerDuty && url === undefined) missing("url");
		if (isPagerDuty && routing_key === undefined) missing("routing_key");
		if (!isPagerDuty && routing_key !== undefined)
			issues.push({
				...issue(routing_key, "invalid_input", "Only the format pagerduty has a routing key."),
				path: ["routing_key"],
			});
	});

export const update = z.object({ url: url().optional(), ...fields });

/** The time since which events are delivered again. */
export const replay = z.object({ since: moment() });

export const filters = z.object({
	status: choices(DELIVERY_STATUSES).optional(),
	type: text().optional(),
});

/** Returns the name of a webhook in the activity log. Its path and query may contain secrets. */
export const nameOf = ({ url }: { url: string }) => new URL(url).host;
