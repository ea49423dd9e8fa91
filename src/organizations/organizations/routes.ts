import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN, OWNER } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as organizations from "./queries.ts";
import { create, Organization, update } from "./shape.ts";

/** docs/organizations.md#organizations */
export default router()
	.get("/", paginated(Organization), async (c) =>
		c.json(await organizations.list(c.var.tenant, page(c))),
	)
	.post("/", created(Organization), body(create), async (c) =>
		c.json(await organizations.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get("/:id", ok(Organization), async (c) => c.json(await organizations.find(c.var.tenant)))
	.patch("/:id", ok(Organization), atLeast(ADMIN), body(update), async (c) =>
		c.json(await organizations.update(c.var.tenant, c.req.valid("json"))),
	)
	.delete("/:id", noContent(), atLeast(OWNER), async (c) => {
		await organizations.remove(c.var.tenant);
		return c.body(null, 204);
	});
