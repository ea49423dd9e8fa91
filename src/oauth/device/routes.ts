import { createMiddleware } from "hono/factory";
import { body } from "../../access/valid.ts";
import type { App } from "../../env.ts";
import { throttled } from "../../http/errors.ts";
import { noContent, ok, router } from "../../http/router.ts";
import { limitNetwork } from "../../keys/network_limits.ts";
import * as shape from "../requests/shape.ts";

/** Returns 429 after too many codes of a person or a network, so that nobody can find one. */
const limitCodes = createMiddleware<App>(async (c, next) => {
	const { success } = await c.env.SIGN_INS.limit({ key: `device codes of ${c.var.key.user_id}` });
	if (!success) throw throttled(60);
	await limitNetwork(c, "device codes", 60);
	await next();
});

/** What apps on devices ask people for (docs/oauth.md#devices). */
export default router()
	.post("/preview", ok(shape.DeviceRequest), limitCodes, body(shape.userCode), async (c) => {
		const { preview } = await import("./device.ts");
		return c.json(await preview(c.var.tenant, c.req.valid("json")));
	})
	.post("/", noContent(), limitCodes, body(shape.deviceApproval), async (c) => {
		const { approve } = await import("./device.ts");
		await approve(c.var.tenant, c.req.valid("json"));
		return c.body(null, 204);
	})
	.post("/deny", noContent(), limitCodes, body(shape.userCode), async (c) => {
		const { deny } = await import("./device.ts");
		await deny(c.var.tenant, c.req.valid("json"));
		return c.body(null, 204);
	});
