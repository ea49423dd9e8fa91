import * as z from "zod";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as accounts from "./queries.ts";
import { create, SECTION, ServiceAccount, update } from "./shape.ts";

const CANT_SEE =
	"The organization has no such project, or you can't see it. `attr` has its position.";

/** docs/organizations.md#service-accounts */
export default router({
	...SECTION,
	parameters: { id: z.guid().describe("The service account's id.") },
})
	.use("*", atLeast(ADMIN))
	.get(
		"/",
		paginated(ServiceAccount, {
			id: "listServiceAccounts",
			summary: "List the service accounts of an organization",
			description: "Lists the accounts, newest first. Requires level 8.",
		}),
		async (c) => c.json(await accounts.list(c.var.tenant, page(c))),
	)
	.post(
		"/",
		created(ServiceAccount, {
			id: "createServiceAccount",
			summary: "Create a service account",
			description: "Requires level 8. Create a key for it next.",
			errors: { does_not_exist: CANT_SEE },
		}),
		body(create),
		async (c) => c.json(await accounts.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(ServiceAccount, {
			id: "getServiceAccount",
			summary: "Retrieve a service account",
			description: "Returns the account. Requires level 8.",
		}),
		async (c) => c.json(await accounts.find(c.var.tenant, c.req.param("id"))),
	)
	.patch(
		"/:id",
		ok(ServiceAccount, {
			id: "updateServiceAccount",
			summary: "Change a service account",
			description:
				"Requires level 8. Changes apply to the next request with any of the account's keys.",
			errors: { does_not_exist: CANT_SEE },
		}),
		body(update, accounts.find),
		async (c) =>
			c.json(await accounts.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteServiceAccount",
			summary: "Delete a service account",
			description:
				"Requires level 8. Its keys immediately stop working. Activity log entries keep its name.",
		}),
		async (c) => {
			await accounts.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	);
