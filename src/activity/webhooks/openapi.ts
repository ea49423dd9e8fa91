import { describe, type OpenApi } from "../../http/openapi.ts";
import type webhooks from "./routes.ts";
import { create, filters, replay, update, Webhook, WebhookDelivery } from "./shape.ts";

export default {
	tag: {
		name: "Webhooks",
		description:
			"Send the events of an organization to your URLs, or to Slack, Microsoft Teams or PagerDuty: all entries of its activity log, and events without a caller. Deliveries follow [Standard Webhooks](https://www.standardwebhooks.com): they are signed, in order, and repeated until your endpoint accepts them. All operations require level 8.",
	},
	operations: {
		"GET /": {
			id: "listWebhooks",
			summary: "List the webhooks",
			description: "Lists the organization's webhooks, newest first. Requires level 8.",
		},
		"POST /": {
			id: "createWebhook",
			summary: "Add a webhook",
			description:
				"Requires level 8. The response has the `secret` that signs the deliveries; it isn't shown again. The webhook gets events that happen after its creation.",
			errors: {
				invalid_input:
					"The host of `url` is in a private network or has no address, or a type is malformed.",
			},
		},
		"GET /:id": {
			id: "getWebhook",
			summary: "Retrieve a webhook",
			description: "Returns the webhook, with the state of its deliveries. Requires level 8.",
		},
		"PATCH /:id": {
			id: "updateWebhook",
			summary: "Change a webhook",
			description:
				"Requires level 8. Fields that aren't in the body don't change. A change of `url`, `types` or `enabled` starts the next attempt immediately. While a webhook is disabled, events wait. Returns the webhook.",
			errors: {
				invalid_input:
					"The host of `url` is in a private network or has no address, or a type is malformed.",
			},
		},
		"DELETE /:id": {
			id: "deleteWebhook",
			summary: "Delete a webhook",
			description: "Requires level 8. Also stops a delivery that is in progress.",
		},
		"POST /:id/test": {
			id: "testWebhook",
			summary: "Test a webhook",
			description:
				"Requires level 8. Sends an event of the type `webhook.test` immediately, even if the webhook is disabled, and returns the attempt. The response is a 200 in either case: `status` and `error` show whether your endpoint accepted the event.",
		},
		"POST /:id/roll": {
			id: "rollWebhook",
			summary: "Roll the secret of a webhook",
			description:
				"Requires level 8. The response has a new `secret`; it isn't shown again. For 24 hours, deliveries are signed with both the new and the old secret.",
			errors: { invalid_input: "Another request rolled or deleted the webhook first." },
		},
		"POST /:id/replay": {
			id: "replayWebhook",
			summary: "Deliver the events since a time",
			description:
				"Requires level 8. Moves the webhook to a time, and delivers all events from there, even those that were delivered before. Events before that time are no longer delivered: to skip an event that your endpoint doesn't accept, use a later time.",
		},
		"GET /:id/deliveries": {
			id: "listWebhookDeliveries",
			summary: "List the deliveries of a webhook",
			description:
				"Lists the attempts to deliver events, newest first. Only the last 100 are stored. Requires level 8.",
		},
		"POST /:id/deliveries/:delivery_id/replay": {
			id: "replayWebhookDelivery",
			summary: "Deliver an event again",
			description:
				"Requires level 8. Immediately sends the event of a delivery again, out of order, and returns the attempt. Other deliveries aren't affected.",
			errors: {
				invalid_input: "The delivery was a test, or its event no longer exists.",
			},
		},
	},
} satisfies OpenApi<typeof webhooks>;

const URL =
	"Where events are sent: an HTTP or HTTPS URL of at most 2,048 characters, without a user and password, whose host isn't in a private network.";
const TYPES =
	"The event types to send, such as `member.updated`, or `member.*` for all types with this prefix; at most 100. Empty for all events.";
const DESCRIPTION = "Your own description, at most 400 characters.";

const FORMATS = {
	standard: "the event as JSON, for your own endpoint.",
	slack: "a message for an incoming webhook of Slack.",
	teams: "a card for a workflow of Microsoft Teams.",
	pagerduty: "an event for the Events API v2 of PagerDuty.",
};

describe(create, {
	format: ["The format of messages, which can't be changed. `standard` by default.", FORMATS],
	url: `${URL} For Slack and Microsoft Teams, the URL of the incoming webhook there. Required, except for PagerDuty: its default is \`https://events.pagerduty.com/v2/enqueue\`.`,
	routing_key:
		"The integration key of a PagerDuty service, at most 100 characters. Required for the format `pagerduty`, and rejected for others. It isn't shown again.",
	types: `${TYPES} Empty by default.`,
	description: `${DESCRIPTION} Empty by default.`,
	enabled: "Whether events are delivered. True by default.",
});

describe(update, {
	url: URL,
	types: `${TYPES} A change applies to all events that haven't been delivered.`,
	description: DESCRIPTION,
	enabled:
		"Whether events are delivered. While false, events wait for as long as the activity log keeps them.",
});

describe(replay, {
	since:
		"The time of the first event to deliver, in ISO 8601; UTC if it has no offset. A time in the future skips all events up to now.",
});

describe(filters, {
	status: "Only attempts with this result. Can be repeated.",
	type: "Only attempts with events of this type. Case matters.",
});

describe(WebhookDelivery, {
	id: "Identifies the attempt.",
	event_id: "Identifies the event: the `webhook-id` header that was sent.",
	type: "The type of the event.",
	reason: [
		"Why the event was sent.",
		{
			event: "it was the next event.",
			replay: "a request asked to send it again.",
			test: "a request asked for a test.",
		},
	],
	attempt: "The number of attempts to deliver the event in order, including this one.",
	status: [
		"The result.",
		{
			delivered: "the endpoint returned a status of 200 to 299 within 15 seconds.",
			failed: "it didn't; `error` says why.",
		},
	],
	response_status: "The status of the endpoint's response; null if there was none.",
	duration_ms: "How long it took, in milliseconds.",
	error:
		"Why the event wasn't delivered, as text for people, with the start of the response; null if it was delivered.",
	created_at: "When the attempt ended.",
});

describe(Webhook, {
	id: "Identifies the webhook, in paths too.",
	format: ["The format of messages.", FORMATS],
	url: "Where events are sent.",
	types: "The event types to send, or prefixes such as `member.*`. Empty for all events.",
	description: "Your own description.",
	enabled: "Whether events are delivered.",
	disabled_reason:
		"Why the service disabled the webhook: its endpoint returned 410, or failed for five days. Null if it didn't.",
	secret:
		"The signing secret, `whsec_` and Base64: only in the responses to creating and rolling, else null.",
	previous_secret_expires_at:
		"Until when deliveries are also signed with the secret before the last roll; null if they aren't.",
	failing_since: "When deliveries started to fail; null if the last one succeeded.",
	last_error: "Why the last delivery failed; null if it succeeded.",
	next_attempt_at:
		"When the next attempt is due; null if there is no event, or the webhook is disabled.",
	missed_events:
		"How many events were deleted because of their age before they could be delivered.",
	last_delivery: "The last attempt, including tests; null if there was none.",
	created_at: "When it was added.",
});
