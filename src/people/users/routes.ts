import { body } from "../../access/input.ts";
import { ok, router } from "../../http/router.ts";
import * as users from "./queries.ts";
import { Me, update } from "./shape.ts";

/** docs/organizations.md#users. */
export default router()
	.get("/:uuid", ok(Me), async (c) => c.json(await users.find(c.var.tenant, c.req.param("uuid"))))
	.patch("/:uuid", ok(Me), body(update, users.find), async (c) =>
		c.json(await users.update(c.var.tenant, c.req.param("uuid"), c.req.valid("json"))),
	);
