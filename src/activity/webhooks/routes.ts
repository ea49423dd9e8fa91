import { atLeast } from "../../access/middleware.ts";
import { body, query } from "../../access/valid.ts";
import { ADMIN } from "../../db/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as deliveries from "./deliveries.ts";
import * as webhooks from "./queries.ts";
import { create, filters, replay, update, Webhook, WebhookDelivery } from "./shape.ts";

/** docs/webhooks.md */
export default router()
	.get("/", paginated(Webhook), atLeast(ADMIN), async (c) =>
		c.json(await webhooks.list(c.var.tenant, page(c))),
	)
	.post("/", created(Webhook), atLeast(ADMIN), body(create), async (c) =>
		c.json(await webhooks.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get("/:id", ok(Webhook), atLeast(ADMIN), async (c) =>
		c.json(await webhooks.find(c.var.tenant, c.req.param("id"))),
	)
	.patch("/:id", ok(Webhook), atLeast(ADMIN), body(update, webhooks.find), async (c) =>
		c.json(await webhooks.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete("/:id", noContent(), atLeast(ADMIN), async (c) => {
		await webhooks.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	})
	.post("/:id/test", ok(WebhookDelivery), atLeast(ADMIN), async (c) =>
		c.json(await deliveries.test(c.var.tenant, c.req.param("id"))),
	)
	.post("/:id/roll", ok(Webhook), atLeast(ADMIN), async (c) =>
		c.json(await webhooks.roll(c.var.tenant, c.req.param("id"))),
	)
	.post("/:id/replay", ok(Webhook), atLeast(ADMIN), body(replay, webhooks.find), async (c) =>
		c.json(await webhooks.replay(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.get(
		"/:id/deliveries",
		paginated(WebhookDelivery),
		atLeast(ADMIN),
		query(filters, webhooks.find),
		async (c) =>
			c.json(await deliveries.list(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query"))),
	)
	.post("/:id/deliveries/:delivery_id/replay", ok(WebhookDelivery), atLeast(ADMIN), async (c) => {
		const { id, delivery_id } = c.req.param();
		return c.json(await deliveries.replay(c.var.tenant, id, delivery_id));
	});
