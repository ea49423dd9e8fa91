import { body, query } from "../../access/input.ts";
import { page } from "../../http/page.ts";
import { noContent, ok, paginated, router } from "../../http/router.ts";
import { list } from "./list.ts";
import * as members from "./queries.ts";
import { filters, Member, update } from "./shape.ts";

/** docs/organizations.md#members */
export default router()
	.get("/", paginated(Member), query(filters), async (c) =>
		c.json(await list(c.var.tenant, page(c), c.req.valid("query"))),
	)
	.patch("/:user__uuid", ok(Member), body(update, members.find), async (c) =>
		c.json(await members.update(c.var.tenant, c.req.param("user__uuid"), c.req.valid("json"))),
	)
	.delete("/:user__uuid", noContent(), async (c) => {
		await members.remove(c.var.tenant, c.req.param("user__uuid"));
		return c.body(null, 204);
	});
