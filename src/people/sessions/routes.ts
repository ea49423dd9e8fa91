import type { Context } from "hono";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { noContent, paginated, router } from "../../http/router.ts";
import * as sessions from "./queries.ts";
import { Session } from "./shape.ts";

const uuid = (c: Context<App>) => c.req.param("uuid") ?? "";

/** docs/keys.md#your-sessions */
export default router()
	.get("/", paginated(Session), async (c) =>
		c.json(await sessions.list(c.var.tenant, uuid(c), page(c))),
	)
	.post("/end_others", noContent(), async (c) => {
		await sessions.removeOthers(c.var.tenant, uuid(c));
		return c.body(null, 204);
	})
	.delete("/:id", noContent(), async (c) => {
		await sessions.remove(c.var.tenant, uuid(c), c.req.param("id"));
		return c.body(null, 204);
	});
