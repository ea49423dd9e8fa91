import { found } from "../http/errors.ts";
import { ok, router } from "../http/router.ts";
import { body } from "../tenant/valid.ts";
import * as twoFactor from "./queries.ts";
import { Code, TwoFactor, TwoFactorSetup, TwoFactorWithCodes } from "./shape.ts";

/** docs/keys.md#the-second-factor */
export default router()
	.get("/", ok(TwoFactor), async (c) =>
		c.json(found(await twoFactor.find(c.var.tenant, c.req.param("uuid") ?? ""))),
	)
	.post("/begin", ok(TwoFactorSetup), async (c) =>
		c.json(await twoFactor.begin(c.var.tenant, c.req.param("uuid") ?? "")),
	)
	.post("/confirm", ok(TwoFactorWithCodes), body(Code, twoFactor.find), async (c) => {
		const { code } = c.req.valid("json");
		return c.json(await twoFactor.confirm(c.var.tenant, c.req.param("uuid") ?? "", code));
	})
	.post("/disable", ok(TwoFactor), body(Code, twoFactor.find), async (c) => {
		const { code } = c.req.valid("json");
		return c.json(await twoFactor.disable(c.var.tenant, c.req.param("uuid") ?? "", code));
	})
	.post("/recovery_codes", ok(TwoFactorWithCodes), body(Code, twoFactor.find), async (c) => {
		const { code } = c.req.valid("json");
		return c.json(await twoFactor.replaceCodes(c.var.tenant, c.req.param("uuid") ?? "", code));
	});
