import type { Context } from "hono";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as groups from "./groups.ts";
import * as requests from "./requests.ts";
import { ScimGroup, ScimRequest, ScimToken, update } from "./shape.ts";
import * as tokens from "./tokens.ts";

const domain = (c: Context<App>) => c.req.param("domain_id") ?? "";

/** docs/sign-on.md#scim */
export default router()
	.use("*", atLeast(ADMIN))
	.get("/tokens", paginated(ScimToken), async (c) =>
		c.json(await tokens.list(c.var.tenant, domain(c), page(c))),
	)
	.post("/tokens", created(ScimToken), async (c) =>
		c.json(await tokens.insert(c.var.tenant, domain(c)), 201),
	)
	.delete("/tokens/:token_id", noContent(), async (c) => {
		await tokens.remove(c.var.tenant, domain(c), c.req.param("token_id"));
		return c.body(null, 204);
	})
	.get("/groups", paginated(ScimGroup), async (c) =>
		c.json(await groups.list(c.var.tenant, domain(c), page(c))),
	)
	.patch(
		"/groups/:group_id",
		ok(ScimGroup),
		body(update, (tenant, id, c) => groups.find(tenant, domain(c), id)),
		async (c) =>
			c.json(
				await groups.update(c.var.tenant, domain(c), c.req.param("group_id"), c.req.valid("json")),
			),
	)
	.get("/requests", paginated(ScimRequest), async (c) =>
		c.json(await requests.list(c.var.tenant, domain(c), page(c))),
	);
