import { describe, type Reference } from "../http/reference.ts";
import type webhooks from "./routes.ts";
import { create, filters, replay, update, Webhook, WebhookDelivery } from "./shape.ts";

const reference: Reference<typeof webhooks> = {
	tag: {
		name: "Webhooks",
		description:
			"URLs of yours that get the events of an organization: everything that its activity log has, and what happens without a caller. Deliveries follow [Standard Webhooks](https://www.standardwebhooks.com): they are signed, in order, and repeated until your endpoint takes them. All operations require level 8.",
	},
	operations: {
		"/": {
			get: {
				id: "listWebhooks",
				summary: "List the webhooks",
				description: "Lists the organization's webhooks, newest first. Requires level 8.",
			},
			post: {
				id: "createWebhook",
				summary: "Add a webhook",
				description:
					"Requires level 8. The answer has the `secret` that signs the deliveries; it isn't shown again. The webhook gets what happens after it was added. An organization can have 20 webhooks.",
				errors: {
					invalid_input:
						"The host of `url` is in a private network or has no address, a type is malformed, or the organization has 20 webhooks.",
				},
			},
		},
		"/:id": {
			get: {
				id: "getWebhook",
				summary: "Retrieve a webhook",
				description: "Answers with the webhook, and how its deliveries go. Requires level 8.",
			},
			patch: {
				id: "updateWebhook",
				summary: "Change a webhook",
				description:
					"Requires level 8. Fields that aren't in the body stay as they are. A change of `url`, `types` or `enabled` makes the next event due at once. Events that happen while a webhook is disabled wait until it is enabled. Answers with the webhook.",
				errors: {
					invalid_input:
						"The host of `url` is in a private network or has no address, or a type is malformed.",
				},
			},
			delete: {
				id: "deleteWebhook",
				summary: "Delete a webhook",
				description: "Requires level 8. Ends its deliveries, also those that are under way.",
			},
		},
		"/:id/test": {
			post: {
				id: "testWebhook",
				summary: "Test a webhook",
				description:
					"Requires level 8. Sends an event of the type `webhook.test` at once, also if the webhook is disabled, and answers with what came of it. The answer is a 200 in either case: `status` and `error` say whether your endpoint took the event.",
			},
		},
		"/:id/roll": {
			post: {
				id: "rollWebhook",
				summary: "Roll the secret of a webhook",
				description:
					"Requires level 8. The answer has a new `secret`; it isn't shown again. For 24 hours deliveries have two signatures, one of the new secret and one of the old.",
				errors: { invalid_input: "Another request rolled or deleted the webhook first." },
			},
		},
		"/:id/replay": {
			post: {
				id: "replayWebhook",
				summary: "Deliver the events since a time",
				description:
					"Requires level 8. Delivers every event since a time, again where it was delivered before, and goes on from there. Events before that time are not delivered any more: so a time after an event that your endpoint refuses is the way past it.",
			},
		},
		"/:id/deliveries": {
			get: {
				id: "listWebhookDeliveries",
				summary: "List the deliveries of a webhook",
				description:
					"Lists the attempts to deliver events, newest first. The last 100 are kept. Requires level 8.",
			},
		},
		"/:id/deliveries/:delivery_id/replay": {
			post: {
				id: "replayWebhookDelivery",
				summary: "Deliver an event again",
				description:
					"Requires level 8. Sends the event of a delivery again, at once and out of order, and answers with what came of it. That has no effect on other deliveries.",
				errors: {
					invalid_input: "The delivery was a test, or its event is no longer kept.",
				},
			},
		},
	},
};
export default reference;

const URL =
	"Where events are sent: an HTTP or HTTPS URL of at most 2,048 characters, without a user and password, whose host isn't in a private network.";
const TYPES =
	"Which events it gets: types such as `member.updated`, or `member.*` for all that begin so, at most 100. Empty for all events.";
const DESCRIPTION = "A text of yours, at most 400 characters.";

describe(create, {
	url: URL,
	types: `${TYPES} Empty by default.`,
	description: `${DESCRIPTION} Empty by default.`,
	enabled: "Whether events are delivered. True by default.",
});

describe(update, {
	url: URL,
	types: `${TYPES} A change concerns the events that were not delivered yet.`,
	description: DESCRIPTION,
	enabled:
		"Whether events are delivered. While they aren't, they wait, for as long as the activity log keeps them.",
});

describe(replay, {
	since:
		"The time of the first event to deliver, in ISO 8601; UTC if it has no offset. A time in the future passes over all events up to now.",
});

describe(filters, {
	status: "Only attempts with this result. May be repeated.",
	type: "Only attempts with events of this type. Case matters.",
});

describe(WebhookDelivery, {
	id: "Identifies the attempt.",
	event_id: "Identifies the event: the `webhook-id` header that was sent.",
	type: "The type of the event.",
	reason: [
		"Why the event was sent.",
		{
			event: "its turn had come.",
			replay: "a request asked to send it again.",
			test: "a request asked for a test.",
		},
	],
	attempt: "How often the event was tried when its turn had come, this attempt included.",
	status: [
		"What came of it.",
		{
			delivered: "the endpoint answered with a status of 200 to 299 within 15 seconds.",
			failed: "it didn't; `error` says why.",
		},
	],
	response_status: "The status of the endpoint's response; null if there was none.",
	duration_ms: "How long it took, in milliseconds.",
	error:
		"Why the event was not delivered, for people, with the beginning of the response; null if it was delivered.",
	created_at: "When the attempt ended.",
});

describe(Webhook, {
	id: "Identifies the webhook, in paths too.",
	url: "Where events are sent.",
	types: "Which events it gets, as types or as beginnings such as `member.*`. Empty: all events.",
	description: "A text of yours.",
	enabled: "Whether events are delivered.",
	disabled_reason:
		"Why the service disabled the webhook: its endpoint answered 410, or failed for five days. Null if it didn't.",
	secret:
		"The secret that signs, `whsec_` and Base64: only in the answers to creating and rolling, else null.",
	previous_secret_expires_at:
		"Until when the secret before the last roll signs, too; null if it doesn't.",
	failing_since:
		"When a delivery failed for the first time since the last one that succeeded; null if the last one succeeded.",
	last_error: "Why the last delivery failed; null if it succeeded.",
	next_attempt_at:
		"When the next event is due to be sent, or was sent just now; null if there is none, or the webhook is disabled.",
	missed_events:
		"How many events were deleted, 365 days after they happened, before they could be delivered.",
	last_delivery: "The last attempt, a test included; null if there was none.",
	created_at: "When it was added.",
});
