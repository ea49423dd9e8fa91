import { body, query } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as domains from "./queries.ts";
import { create, Domain, filters, update, Verified } from "./shape.ts";
import * as settings from "./update.ts";

/** docs/organizations.md#domains */
export default router()
	.get("/", paginated(Domain), query(filters), async (c) =>
		c.json(await domains.list(c.var.tenant, page(c), c.req.valid("query"))),
	)
	.post("/", created(Domain), atLeast(ADMIN), body(create), async (c) =>
		c.json(await domains.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get("/:id", ok(Domain), async (c) => c.json(await domains.find(c.var.tenant, c.req.param("id"))))
	.patch("/:id", ok(Domain), atLeast(ADMIN), body(update, domains.find), async (c) =>
		c.json(await settings.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete("/:id", noContent(), atLeast(ADMIN), async (c) => {
		await domains.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	})
	.post("/:id/verify", ok(Verified), atLeast(ADMIN), async (c) =>
		c.json(await domains.verify(c.var.tenant, c.req.param("id"))),
	);
