import type { Tenant } from "../../access/tenant.ts";
import { body } from "../../access/valid.ts";
import { ok, router } from "../../http/router.ts";
import { Code, TwoFactor, TwoFactorSetup, TwoFactorWithCodes } from "./shape.ts";

/** Loaded on first use, since few requests need it. */
const queries = () => import("./queries.ts");

const find = async (tenant: Tenant, uuid: string) => (await queries()).find(tenant, uuid);

/** docs/keys.md#the-second-factor */
export default router()
	.get("/", ok(TwoFactor), async (c) => c.json(await find(c.var.tenant, c.req.param("uuid") ?? "")))
	.post("/begin", ok(TwoFactorSetup), async (c) => {
		const { begin } = await queries();
		return c.json(await begin(c.var.tenant, c.req.param("uuid") ?? ""));
	})
	.post("/confirm", ok(TwoFactorWithCodes), body(Code, find), async (c) => {
		const { confirm } = await queries();
		const { code } = c.req.valid("json");
		return c.json(await confirm(c.var.tenant, c.req.param("uuid") ?? "", code));
	})
	.post("/disable", ok(TwoFactor), body(Code, find), async (c) => {
		const { disable } = await queries();
		const { code } = c.req.valid("json");
		return c.json(await disable(c.var.tenant, c.req.param("uuid") ?? "", code));
	})
	.post("/recovery_codes", ok(TwoFactorWithCodes), body(Code, find), async (c) => {
		const { replaceCodes } = await queries();
		const { code } = c.req.valid("json");
		return c.json(await replaceCodes(c.var.tenant, c.req.param("uuid") ?? "", code));
	});
