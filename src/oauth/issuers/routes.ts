import type { Context } from "hono";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import type { Tenant } from "../../access/tenant.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import { idOf } from "../../people/service_accounts/owner.ts";
import * as issuers from "./queries.ts";
import { create, TrustedIssuer, update } from "./shape.ts";

const findAccount = (tenant: Tenant, _: string, c: Context<App>) =>
	issuers.findAccount(tenant, idOf(c));
const find = (tenant: Tenant, id: string, c: Context<App>) => issuers.find(tenant, idOf(c), id);

/** docs/oauth.md#jobs-without-keys */
export default router()
	.use("*", atLeast(ADMIN))
	.get("/", paginated(TrustedIssuer), async (c) =>
		c.json(await issuers.list(c.var.tenant, idOf(c), page(c))),
	)
	.post("/", created(TrustedIssuer), body(create, findAccount), async (c) =>
		c.json(await issuers.insert(c.var.tenant, idOf(c), c.req.valid("json")), 201),
	)
	.get("/:id", ok(TrustedIssuer), async (c) =>
		c.json(await issuers.find(c.var.tenant, idOf(c), c.req.param("id"))),
	)
	.patch("/:id", ok(TrustedIssuer), body(update, find), async (c) =>
		c.json(
			await issuers.update(
				c.var.tenant,
				{ account: idOf(c), id: c.req.param("id") },
				c.req.valid("json"),
			),
		),
	)
	.delete("/:id", noContent(), async (c) => {
		await issuers.remove(c.var.tenant, idOf(c), c.req.param("id"));
		return c.body(null, 204);
	});
