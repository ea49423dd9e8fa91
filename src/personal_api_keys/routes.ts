import { found } from "../http/errors.ts";
import { page } from "../http/page.ts";
import { created, noContent, ok, paginated, router } from "../http/router.ts";
import { body } from "../tenant/valid.ts";
import * as keys from "./queries.ts";
import { create, PersonalApiKey, update } from "./shape.ts";

/** docs/keys.md#personal-api-keys. */
export default router()
	.get("/", paginated(PersonalApiKey, "List your keys, newest first"), async (c) =>
		c.json(await keys.list(c.var.tenant, page(c))),
	)
	.post(
		"/",
		created(PersonalApiKey, "Create a key; its value is shown only once"),
		body(create),
		async (c) => c.json(await keys.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(PersonalApiKey, "Retrieve one of your keys; @current is the one in use"),
		async (c) => c.json(found(await keys.find(c.var.tenant, c.req.param("id")))),
	)
	.patch(
		"/:id",
		ok(PersonalApiKey, "Change one of your keys"),
		body(update, keys.find),
		async (c) => c.json(await keys.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete("/:id", noContent("Revoke one of your keys immediately"), async (c) => {
		await keys.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	})
	.post(
		"/:id/roll",
		ok(PersonalApiKey, "Give a key a new value, which is shown only once"),
		async (c) => c.json(await keys.roll(c.var.tenant, c.req.param("id"))),
	);
