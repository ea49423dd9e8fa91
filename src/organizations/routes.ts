import { ADMIN, OWNER } from "../db/levels.ts";
import { atLeast } from "../tenant/tenant.ts";
import { body } from "../tenant/valid.ts";
import { found } from "../http/errors.ts";
import { page } from "../http/page.ts";
import { answers, creates, lists, removes, router } from "../http/router.ts";
import * as organizations from "./queries.ts";
import { create, Organization, update } from "./shape.ts";

/** Interface 4.1, behaviour 4. */
export default router()
	.get(
		"/",
		lists(Organization, "List your organizations, newest first"),
		async (c) => c.json(await organizations.list(c.var.tenant, page(c))),
	)
	.post(
		"/",
		creates(Organization, "Create an organization and become its owner"),
		body(create),
		async (c) =>
			c.json(
				await organizations.insert(c.var.tenant, c.req.valid("json")),
				201,
			),
	)
	.get("/:id", answers(Organization, "Retrieve an organization"), async (c) =>
		c.json(found(await organizations.find(c.var.tenant))),
	)
	.patch(
		"/:id",
		answers(Organization, "Change an organization"),
		atLeast(ADMIN),
		body(update),
		async (c) =>
			c.json(await organizations.update(c.var.tenant, c.req.valid("json"))),
	)
	.delete(
		"/:id",
		removes("Delete an organization and all below it"),
		atLeast(OWNER),
		async (c) => {
			await organizations.remove(c.var.tenant);
			return c.body(null, 204);
		},
	);
