import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, paginated, router } from "../../http/router.ts";
import * as members from "./queries.ts";
import { create, ProjectMember } from "./shape.ts";

/** docs/organizations.md#projects. */
export default router()
	.get("/", paginated(ProjectMember), async (c) =>
		c.json(await members.list(c.var.tenant, page(c))),
	)
	.post("/", created(ProjectMember), atLeast(ADMIN), body(create), async (c) =>
		c.json(await members.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.delete("/:user_uuid", noContent(), atLeast(ADMIN), async (c) => {
		await members.remove(c.var.tenant, c.req.param("user_uuid"));
		return c.body(null, 204);
	});
