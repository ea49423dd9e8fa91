import type { Context } from "hono";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { noContent, paginated, router } from "../../http/router.ts";
import * as identities from "./queries.ts";
import { Identity } from "./shape.ts";

const uuid = (c: Context<App>) => c.req.param("uuid") ?? "";

/** docs/sign-on.md#how-people-sign-in */
export default router()
	.get("/", paginated(Identity), async (c) =>
		c.json(await identities.list(c.var.tenant, uuid(c), page(c))),
	)
	.delete("/:id", noContent(), async (c) => {
		await identities.remove(c.var.tenant, uuid(c), c.req.param("id"));
		return c.body(null, 204);
	});
