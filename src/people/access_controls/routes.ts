import * as z from "zod";
import { body, query } from "../../access/input.ts";
import { atLeast, needs } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import { explain } from "./explain.ts";
import * as controls from "./queries.ts";
import { AccessControl, create, filters, MemberAccess, question, update } from "./shape.ts";

/** docs/access.md */
export default router({
	name: "Access controls",
	description:
		"What members of level 1 and service accounts may see, change and delete: given to everyone, to a role, or to one member, for all objects of a kind or for a single one. Without access controls, they may do everything that their level allows. Admins and owners can always do everything.",
	parameters: { id: z.guid().describe("The access control's id.") },
})
	.use("*", atLeast(ADMIN))
	.get(
		"/",
		paginated(AccessControl, {
			id: "listAccessControls",
			summary: "List the access controls of an organization",
			description: "Lists the access controls, newest first. Requires level 8.",
		}),
		query(filters),
		async (c) => c.json(await controls.list(c.var.tenant, page(c), c.req.valid("query"))),
	)
	.post(
		"/",
		created(AccessControl, {
			id: "createAccessControl",
			summary: "Give access, or change what was given",
			description:
				"Requires level 8. There is one access control for each holder and object, whose level this sets: if there is one already, it is changed. Applies to the next request of everyone it is about, and also to one that is in progress.",
			errors: {
				does_not_exist: "The organization has no such object, role or member.",
				invalid_input:
					"The resource has no objects, the role is `Auditor`, or both `role` and `member` are given.",
			},
		}),
		body(create),
		async (c) => c.json(await controls.put(c.var.tenant, c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(AccessControl, {
			id: "getAccessControl",
			summary: "Retrieve an access control",
			description: "Returns the access control. Requires level 8.",
		}),
		async (c) => c.json(await controls.find(c.var.tenant, c.req.param("id"))),
	)
	.patch(
		"/:id",
		ok(AccessControl, {
			id: "updateAccessControl",
			summary: "Change the level of an access control",
			description: "Requires level 8. Returns the access control.",
		}),
		body(update, controls.find),
		async (c) =>
			c.json(await controls.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteAccessControl",
			summary: "Delete an access control",
			description: "Requires level 8. What else is said about the access then applies.",
		}),
		async (c) => {
			await controls.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	);

/** docs/access.md#who-can-see-this */
export const access = router({
	name: "Access controls",
	description: "Who can see what, and why.",
}).get(
	"/",
	paginated(MemberAccess, {
		id: "explainAccess",
		summary: "Explain who has which access",
		description:
			"With `member`, lists the member's access to `resource`, or to all resources. With `resource` alone, lists the members who can view it, or one of its objects, newest first. Without both, lists your own access. Any member can ask about themselves; others require level 8, or viewer access to organization_member that was given to you or your role.",
		errors: {
			required: "`resource_id` was sent without `resource`.",
			invalid_input: "The resource has no objects.",
		},
	}),
	needs("none"),
	query(question),
	async (c) => c.json(await explain(c.var.tenant, page(c), c.req.valid("query"))),
);
