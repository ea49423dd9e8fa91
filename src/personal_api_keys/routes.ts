import { found } from "../http/errors.ts";
import { page } from "../http/page.ts";
import { created, noContent, ok, paginated, router } from "../http/router.ts";
import { body } from "../tenant/valid.ts";
import * as keys from "./queries.ts";
import { create, PersonalApiKey, update } from "./shape.ts";

/** docs/keys.md#personal-api-keys. */
export default router()
	.get("/", paginated(PersonalApiKey), async (c) => c.json(await keys.list(c.var.tenant, page(c))))
	.post("/", created(PersonalApiKey), body(create), async (c) =>
		c.json(await keys.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get("/:id", ok(PersonalApiKey), async (c) =>
		c.json(found(await keys.find(c.var.tenant, c.req.param("id")))),
	)
	.patch("/:id", ok(PersonalApiKey), body(update, keys.find), async (c) =>
		c.json(await keys.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete("/:id", noContent(), async (c) => {
		await keys.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	})
	.post("/:id/roll", ok(PersonalApiKey), async (c) =>
		c.json(await keys.roll(c.var.tenant, c.req.param("id"))),
	);
