import { atLeast } from "../../access/middleware.ts";
import { body } from "../../access/valid.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as clients from "./queries.ts";
import { create, OauthClient, update } from "./shape.ts";

/** docs/oauth.md#registered-apps */
export default router()
	.use("*", atLeast(ADMIN))
	.get("/", paginated(OauthClient), async (c) => c.json(await clients.list(c.var.tenant, page(c))))
	.post("/", created(OauthClient), body(create), async (c) =>
		c.json(await clients.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get("/:id", ok(OauthClient), async (c) =>
		c.json(await clients.find(c.var.tenant, c.req.param("id"))),
	)
	.patch("/:id", ok(OauthClient), body(update, clients.find), async (c) =>
		c.json(await clients.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete("/:id", noContent(), async (c) => {
		await clients.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	});
