import { body, query } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN, OWNER } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as projects from "./queries.ts";
import { create, filters, Project, update } from "./shape.ts";

/** docs/organizations.md#projects. Mounted twice: all of the caller's, or an organization's. */
export default router()
	.get("/", paginated(Project), query(filters), async (c) =>
		c.json(await projects.list(c.var.tenant, page(c), c.req.valid("query"))),
	)
	.post("/", created(Project), body(create), async (c) =>
		c.json(await projects.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get("/:id", ok(Project), async (c) => c.json(await projects.find(c.var.tenant)))
	.patch("/:id", ok(Project), atLeast(ADMIN), body(update), async (c) =>
		c.json(await projects.update(c.var.tenant, c.req.valid("json"))),
	)
	.delete("/:id", noContent(), atLeast(OWNER), async (c) => {
		await projects.remove(c.var.tenant);
		return c.body(null, 204);
	});
