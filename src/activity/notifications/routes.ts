import { atLeast } from "../../access/middleware.ts";
import { body } from "../../access/valid.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { ok, router } from "../../http/router.ts";
import * as notifications from "./queries.ts";
import { Notifications, update } from "./shape.ts";

/** docs/notifications.md */
export default router()
	.get("/", ok(Notifications), async (c) => c.json(await notifications.find(c.var.tenant)))
	.patch("/", ok(Notifications), atLeast(ADMIN), body(update), async (c) =>
		c.json(await notifications.update(c.var.tenant, c.req.valid("json"))),
	);
