import * as z from "zod";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { revokes } from "../../access/receipts.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, ok, paginated, router } from "../../http/router.ts";
import { keysOf } from "../personal_api_keys/routes.ts";
import { account } from "./owner.ts";
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
		revokes({
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

/** An account's keys (docs/organizations.md#service-accounts). */
export const keys = keysOf(
	account,
	{
		section: { ...SECTION, parameters: { id: z.guid().describe("The key's id.") } },
		word: "ServiceAccountKey",
		list: "Lists the account's keys without their values, newest first. Requires level 8.",
		cantSee: "The account can't see a project in the restrictions. `attr` has its position.",
		full: "The account already has 25 keys, or `scoped_projects` and `scoped_teams` list different projects.",
		access: " Requires level 8. The key can access only the account's organization.",
		whose: "the account's keys",
	},
	atLeast(ADMIN),
);
