import * as z from "zod";
import { deletion } from "../../access/deletions.ts";
import { TYPE_FILTER } from "../../db/event_types.ts";
import { DELIVERY_REASONS, DELIVERY_STATUSES, FORMATS } from "../../db/schema/webhooks.ts";
import {
	boolean,
	choice,
	choices,
	explain,
	issue,
	moment,
	set,
	text,
	timestamp,
	url,
} from "../../http/fields.ts";

const URL_TEXT =
	"Where events are sent: an HTTP or HTTPS URL of at most 2,048 characters, without a user and password, whose host isn't in a private network.";

const TYPES_TEXT =
	"The event types to send, such as `member.updated`, or `member.*` for all types with this prefix; at most 100. Empty for all events.";

const DESCRIPTION_TEXT = "Your own description, at most 400 characters.";

const HAS_ORIGIN_TEXT =
	"Whether events in the format `standard` have `origin`: the IP address, country, client and id of the request that caused them.";

const FORMAT_TEXTS = {
	standard: "the event as JSON, for your own endpoint.",
	slack: "a message for an incoming webhook of Slack.",
	teams: "a card for a workflow of Microsoft Teams.",
	pagerduty: "an event for the Events API v2 of PagerDuty.",
};

/** One attempt to deliver an event (docs/webhooks.md#deliveries). */
export const WebhookDelivery = z
	.object({
		id: z.guid().describe("Identifies the attempt."),
		event_id: z.guid().describe("Identifies the event: the `webhook-id` header that was sent."),
		type: z.string().describe("The type of the event."),
		reason: explain(z.enum(DELIVERY_REASONS), "Why the event was sent.", {
			event: "it was the next event.",
			replay: "a request asked to send it again.",
			test: "a request asked for a test.",
		}),
		attempt: z
			.int()
			.describe("The number of attempts to deliver the event in order, including this one."),
		status: explain(z.enum(DELIVERY_STATUSES), "The result.", {
			delivered: "the endpoint returned a status of 200 to 299 within 15 seconds.",
			failed: "it didn't; `error` says why.",
		}),
		response_status: z
			.int()
			.nullable()
			.describe("The status of the endpoint's response; null if there was none."),
		duration_ms: z.int().describe("How long it took, in milliseconds."),
		error: z
			.string()
			.nullable()
			.describe(
				"Why the event wasn't delivered, as text for people, with the start of the response; null if it was delivered.",
			),
		created_at: timestamp().describe("When the attempt ended."),
	})
	.meta({ id: "WebhookDelivery" });

/** docs/webhooks.md */
export const Webhook = z
	.object({
		id: z.guid().describe("Identifies the webhook, in paths too."),
		format: explain(z.enum(FORMATS), "The format of messages.", FORMAT_TEXTS),
		url: z.string().describe("Where events are sent."),
		types: z
			.array(z.string())
			.describe("The event types to send, or prefixes such as `member.*`. Empty for all events."),
		description: z.string().describe("Your own description."),
		enabled: z.boolean().describe("Whether events are delivered."),
		has_origin: z.boolean().describe(HAS_ORIGIN_TEXT),
		disabled_reason: z
			.string()
			.nullable()
			.describe(
				"Why the service disabled the webhook: its endpoint returned 410, or failed for five days. Null if it didn't.",
			),
		secret: z
			.string()
			.nullable()
			.describe(
				"The signing secret, `whsec_` and Base64: only in the responses to creating and rolling, else null.",
			),
		previous_secret_expires_at: timestamp()
			.nullable()
			.describe(
				"Until when deliveries are also signed with the secret before the last roll; null if they aren't.",
			),
		failing_since: timestamp()
			.nullable()
			.describe("When deliveries started to fail; null if the last one succeeded."),
		last_error: z
			.string()
			.nullable()
			.describe("Why the last delivery failed; null if it succeeded."),
		next_attempt_at: timestamp()
			.nullable()
			.describe(
				"When the next attempt is due; null if there is no event, or the webhook is disabled.",
			),
		missed_events: z
			.int()
			.describe(
				"How many events were deleted because of their age before they could be delivered.",
			),
		last_delivery: WebhookDelivery.nullable().describe(
			"The last attempt, including tests; null if there was none.",
		),
		created_at: timestamp().describe("When it was added."),
		deletion: deletion(),
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
	types: set(type, 100)
		.optional()
		.describe(`${TYPES_TEXT} A change applies to all events that haven't been delivered.`),
	description: text(400).optional().describe(DESCRIPTION_TEXT),
	enabled: boolean()
		.optional()
		.describe(
			"Whether events are delivered. While false, events wait for as long as the activity log keeps them.",
		),
	has_origin: boolean().optional().describe(HAS_ORIGIN_TEXT),
};

/** Where events of the format `pagerduty` are sent by default: PagerDuty's Events API. */
export const PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue";

export const create = z
	.object({
		format: explain(
			choice(FORMATS).optional(),
			"The format of messages, which can't be changed. `standard` by default.",
			FORMAT_TEXTS,
		),
		url: url()
			.optional()
			.describe(
				`${URL_TEXT} For Slack and Microsoft Teams, the URL of the incoming webhook there. Required, except for PagerDuty: its default is \`https://events.pagerduty.com/v2/enqueue\`.`,
			),
		routing_key: text(100)
			.min(1)
			.optional()
			.describe(
				"The integration key of a PagerDuty service, at most 100 characters. Required for the format `pagerduty`, and rejected for others. It isn't shown again.",
			),
		types: fields.types.describe(`${TYPES_TEXT} Empty by default.`),
		description: fields.description.describe(`${DESCRIPTION_TEXT} Empty by default.`),
		enabled: fields.enabled.describe("Whether events are delivered. True by default."),
		has_origin: fields.has_origin.describe(`${HAS_ORIGIN_TEXT} False by default.`),
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

export const update = z.object({ url: url().optional().describe(URL_TEXT), ...fields });

/** The time since which events are delivered again. */
export const replay = z.object({
	since: moment().describe(
		"The time of the first event to deliver, in ISO 8601; UTC if it has no offset. A time in the future skips all events up to now.",
	),
});

export const filters = z.object({
	status: choices(DELIVERY_STATUSES)
		.optional()
		.describe("Only attempts with this result. Can be repeated."),
	type: text().optional().describe("Only attempts with events of this type. Case matters."),
});

/** Returns the name of a webhook in the activity log. Its path and query may contain secrets. */
export const nameOf = ({ url }: { url: string }) => new URL(url).host;
