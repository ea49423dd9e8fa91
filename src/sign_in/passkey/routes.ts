import type { Context } from "hono";
import type { Tenant } from "../../access/tenant.ts";
import { body } from "../../access/valid.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import { read } from "../totp/caller.ts";
import { RequiredProof } from "../totp/shape.ts";
import { PasskeyCreation, PasskeyRequest } from "../webauthn/webauthn.ts";
import * as passkeys from "./queries.ts";
import * as registration from "./register.ts";
import { create, NewPasskey, Passkey, update } from "./shape.ts";

const uuid = (c: Context<App>) => c.req.param("uuid") ?? "";

const ids = (c: Context<App>) => ({ uuid: uuid(c), id: c.req.param("id") ?? "" });

const find = (tenant: Tenant, id: string, c: Context<App>) => passkeys.find(tenant, uuid(c), id);

/** docs/keys.md#passkeys */
export default router()
	.get("/", paginated(Passkey), async (c) =>
		c.json(await passkeys.list(c.var.tenant, uuid(c), page(c))),
	)
	.post("/begin", ok(PasskeyCreation), async (c) =>
		c.json(await registration.begin(c.var.tenant, uuid(c))),
	)
	.post("/", created(NewPasskey), body(create, read), async (c) =>
		c.json(await registration.insert(c.var.tenant, uuid(c), c.req.valid("json")), 201),
	)
	.post("/challenge", ok(PasskeyRequest), async (c) =>
		c.json(await registration.challenge(c.var.tenant, uuid(c))),
	)
	.get("/:id", ok(Passkey), async (c) => c.json(await find(c.var.tenant, c.req.param("id"), c)))
	.patch("/:id", ok(Passkey), body(update, find), async (c) =>
		c.json(await passkeys.rename(c.var.tenant, ids(c), c.req.valid("json"))),
	)
	.post("/:id/remove", noContent(), body(RequiredProof, find), async (c) => {
		await passkeys.remove(c.var.tenant, ids(c), c.req.valid("json"));
		return c.body(null, 204);
	});
