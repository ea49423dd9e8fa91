import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as accounts from "./queries.ts";
import { create, ServiceAccount, update } from "./shape.ts";

/** docs/organizations.md#service-accounts */
export default router()
	.use("*", atLeast(ADMIN))
	.get("/", paginated(ServiceAccount), async (c) =>
		c.json(await accounts.list(c.var.tenant, page(c))),
	)
	.post("/", created(ServiceAccount), body(create), async (c) =>
		c.json(await accounts.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get("/:id", ok(ServiceAccount), async (c) =>
		c.json(await accounts.find(c.var.tenant, c.req.param("id"))),
	)
	.patch("/:id", ok(ServiceAccount), body(update, accounts.find), async (c) =>
		c.json(await accounts.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete("/:id", noContent(), async (c) => {
		await accounts.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	});
