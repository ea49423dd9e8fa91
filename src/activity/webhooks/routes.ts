import * as z from "zod";
import { deletedFilter, listDeleted } from "../../access/deletions.ts";
import { body, query } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import { rollBody } from "../../keys/overlap.ts";
import * as deliveries from "./deliveries.ts";
import * as webhooks from "./queries.ts";
import { create, filters, replay, update, Webhook, WebhookDelivery } from "./shape.ts";

/** docs/webhooks.md */
export default router({
	name: "Webhooks",
	description:
		"Send the events of an organization to your URLs, or to Slack, Microsoft Teams or PagerDuty: all entries of its activity log, and events without a caller. Deliveries follow [Standard Webhooks](https://www.standardwebhooks.com): they are signed, in order, and repeated until your endpoint accepts them. All operations require level 8.",
	parameters: {
		id: z.guid().describe("The webhook's id."),
		delivery_id: z.guid().describe("The delivery's id."),
	},
})
	.get(
		"/",
		paginated(Webhook, {
			id: "listWebhooks",
			summary: "List the webhooks",
			description: "Lists the organization's webhooks, newest first. Requires level 8.",
		}),
		atLeast(ADMIN),
		query(deletedFilter()),
		async (c) =>
			c.json(
				await (c.req.valid("query").deleted
					? listDeleted<z.infer<typeof Webhook>>(c.var.tenant, page(c), "webhook")
					: webhooks.list(c.var.tenant, page(c))),
			),
	)
	.post(
		"/",
		created(Webhook, {
			id: "createWebhook",
			summary: "Add a webhook",
			description:
				"Requires level 8. The response has the `secret` that signs the deliveries; it isn't shown again. The webhook gets events that happen after its creation.",
			errors: {
				invalid_input:
					"The host of `url` is in a private network or has no address, or a type is malformed.",
			},
		}),
		atLeast(ADMIN),
		body(create),
		async (c) => c.json(await webhooks.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(Webhook, {
			id: "getWebhook",
			summary: "Retrieve a webhook",
			description: "Returns the webhook, with the state of its deliveries. Requires level 8.",
		}),
		atLeast(ADMIN),
		async (c) => c.json(await webhooks.find(c.var.tenant, c.req.param("id"))),
	)
	.patch(
		"/:id",
		ok(Webhook, {
			id: "updateWebhook",
			summary: "Change a webhook",
			description:
				"Requires level 8. Fields that aren't in the body don't change. A change of `url`, `types` or `enabled` starts the next attempt immediately. While a webhook is disabled, events wait. Returns the webhook.",
			errors: {
				invalid_input:
					"The host of `url` is in a private network or has no address, or a type is malformed.",
			},
		}),
		atLeast(ADMIN),
		body(update, webhooks.find),
		async (c) =>
			c.json(await webhooks.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteWebhook",
			summary: "Delete a webhook",
			description:
				"Requires level 8. Also stops a delivery that is in progress. It can be restored for 30 days.",
		}),
		atLeast(ADMIN),
		async (c) => {
			await webhooks.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	)
	.post(
		"/:id/test",
		ok(WebhookDelivery, {
			id: "testWebhook",
			summary: "Test a webhook",
			description:
				"Requires level 8. Sends an event of the type `webhook.test` immediately, even if the webhook is disabled, and returns the attempt. The response is a 200 in either case: `status` and `error` show whether your endpoint accepted the event.",
		}),
		atLeast(ADMIN),
		async (c) => c.json(await deliveries.test(c.var.tenant, c.req.param("id"))),
	)
	.post(
		"/:id/roll",
		ok(Webhook, {
			id: "rollWebhook",
			summary: "Roll the secret of a webhook",
			description:
				"Requires level 8. The response has a new `secret`; it isn't shown again. Until the end of the `overlap`, deliveries are signed with both the new and the old secret.",
			errors: { invalid_input: "Another request rolled or deleted the webhook first." },
		}),
		atLeast(ADMIN),
		body(rollBody("24h"), webhooks.find),
		async (c) => c.json(await webhooks.roll(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.post(
		"/:id/replay",
		ok(Webhook, {
			id: "replayWebhook",
			summary: "Deliver the events since a time",
			description:
				"Requires level 8. Moves the webhook to a time, and delivers all events from there, even those that were delivered before. Events before that time are no longer delivered: to skip an event that your endpoint doesn't accept, use a later time.",
		}),
		atLeast(ADMIN),
		body(replay, webhooks.find),
		async (c) =>
			c.json(await webhooks.replay(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.get(
		"/:id/deliveries",
		paginated(WebhookDelivery, {
			id: "listWebhookDeliveries",
			summary: "List the deliveries of a webhook",
			description:
				"Lists the attempts to deliver events, newest first. Only the last 100 are stored. Requires level 8.",
		}),
		atLeast(ADMIN),
		query(filters, webhooks.find),
		async (c) =>
			c.json(await deliveries.list(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query"))),
	)
	.post(
		"/:id/deliveries/:delivery_id/replay",
		ok(WebhookDelivery, {
			id: "replayWebhookDelivery",
			summary: "Deliver an event again",
			description:
				"Requires level 8. Immediately sends the event of a delivery again, out of order, and returns the attempt. Other deliveries aren't affected.",
			errors: {
				invalid_input: "The delivery was a test, or its event no longer exists.",
			},
		}),
		atLeast(ADMIN),
		async (c) => {
			const { id, delivery_id } = c.req.param();
			return c.json(await deliveries.replay(c.var.tenant, id, delivery_id));
		},
	);
