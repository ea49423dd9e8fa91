import { body } from "../../access/valid.ts";
import { ok, router } from "../../http/router.ts";
import * as shape from "./shape.ts";

/** What apps ask people for (docs/oauth.md#what-the-person-sees). */
export default router()
	.post("/preview", ok(shape.AppRequest), body(shape.previewed), async (c) => {
		const { preview } = await import("./request.ts");
		return c.json(await preview(c.var.tenant, c.req.valid("json")));
	})
	.post("/", ok(shape.AppResponse), body(shape.approval), async (c) => {
		const { approve } = await import("./approve.ts");
		return c.json(await approve(c.var.tenant, c.req.valid("json")));
	});
