import type { Context, MiddlewareHandler } from "hono";
import { body } from "../../access/input.ts";
import type { Tenant } from "../../access/tenant.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as days from "./days.ts";
import type { OwnerOf } from "./owner.ts";
import * as keys from "./queries.ts";
import { create, KeyDay, PersonalApiKey, update } from "./shape.ts";

/** An owner's keys (docs/keys.md#personal-api-keys). `access`: requirements besides the scope. */
export default (owner: OwnerOf, ...access: MiddlewareHandler<App>[]) => {
	const findOwner = (tenant: Tenant, _: string, c: Context<App>) =>
		keys.findOwner(tenant, owner(c));
	const find = (tenant: Tenant, id: string, c: Context<App>) => keys.find(tenant, owner(c), id);
	return router()
		.use("*", ...access)
		.get("/", paginated(PersonalApiKey), async (c) =>
			c.json(await keys.list(c.var.tenant, owner(c), page(c))),
		)
		.post("/", created(PersonalApiKey), body(create, findOwner), async (c) =>
			c.json(await keys.insert(c.var.tenant, owner(c), c.req.valid("json")), 201),
		)
		.get("/:id", ok(PersonalApiKey), async (c) =>
			c.json(await keys.find(c.var.tenant, owner(c), c.req.param("id"))),
		)
		.patch("/:id", ok(PersonalApiKey), body(update, find), async (c) =>
			c.json(await keys.update(c.var.tenant, owner(c), c.req.param("id"), c.req.valid("json"))),
		)
		.delete("/:id", noContent(), async (c) => {
			await keys.remove(c.var.tenant, owner(c), c.req.param("id"));
			return c.body(null, 204);
		})
		.post("/:id/roll", ok(PersonalApiKey), async (c) =>
			c.json(await keys.roll(c.var.tenant, owner(c), c.req.param("id"))),
		)
		.get("/:id/usage", paginated(KeyDay), async (c) =>
			c.json(await days.list(c.var.tenant, owner(c), c.req.param("id"), page(c))),
		);
};
