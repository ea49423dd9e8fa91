import type { Context } from "hono";
import { body } from "../../access/valid.ts";
import type { App } from "../../env.ts";
import { ok, router } from "../../http/router.ts";
import * as factors from "./queries.ts";
import {
	Code,
	OptionalProof,
	RequiredProof,
	TwoFactor,
	TwoFactorSetup,
	TwoFactorWithCodes,
} from "./shape.ts";

const uuid = (c: Context<App>) => c.req.param("uuid") ?? "";

/** docs/keys.md#the-second-factor */
export default router()
	.get("/", ok(TwoFactor), async (c) => c.json(await factors.find(c.var.tenant, uuid(c))))
	.post("/begin", ok(TwoFactorSetup), body(OptionalProof, factors.find), async (c) =>
		c.json(await factors.begin(c.var.tenant, uuid(c), c.req.valid("json"))),
	)
	.post("/confirm", ok(TwoFactorWithCodes), body(Code, factors.find), async (c) =>
		c.json(await factors.confirm(c.var.tenant, uuid(c), c.req.valid("json").code)),
	)
	.post("/disable", ok(TwoFactor), body(RequiredProof, factors.find), async (c) =>
		c.json(await factors.disable(c.var.tenant, uuid(c), c.req.valid("json"))),
	)
	.post("/recovery_codes", ok(TwoFactorWithCodes), body(RequiredProof, factors.find), async (c) =>
		c.json(await factors.replaceCodes(c.var.tenant, uuid(c), c.req.valid("json"))),
	);
