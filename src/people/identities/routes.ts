import type { Context } from "hono";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { noContent, paginated, router } from "../../http/router.ts";
import * as member from "./of_member.ts";
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

const memberUuid = (c: Context<App>) => c.req.param("user__uuid") ?? "";

/** docs/sign-on.md#unlinking */
export const ofMember = router()
	.use("*", atLeast(ADMIN))
	.get("/", paginated(Identity), async (c) =>
		c.json(await member.list(c.var.tenant, memberUuid(c), page(c))),
	)
	.delete("/:id", noContent(), async (c) => {
		await member.remove(c.var.tenant, memberUuid(c), c.req.param("id"));
		return c.body(null, 204);
	});
