import * as z from "zod";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as roles from "./queries.ts";
import { addMember, create, Role, RoleMember, update } from "./shape.ts";

const UNIQUE = "The organization has a role with this name.";
const BUILT_IN = "The role is built in.";

/** docs/access.md#roles */
export default router({
	name: "Roles",
	description:
		"A role is a name for members who get the same access. What it may do is said by access controls. Every organization has the role `Auditor`, whose members can view everything and change nothing.",
	parameters: {
		id: z.guid().describe("The role's id."),
		user_uuid: z.guid().describe("The uuid of the user, or the id of the service account."),
	},
})
	.use("*", atLeast(ADMIN))
	.get(
		"/",
		paginated(Role, {
			id: "listRoles",
			summary: "List the roles of an organization",
			description:
				"Lists the roles, newest first, and those that are built in last. Requires level 8.",
		}),
		async (c) => c.json(await roles.list(c.var.tenant, page(c))),
	)
	.post(
		"/",
		created(Role, {
			id: "createRole",
			summary: "Create a role",
			description: "Requires level 8. The role gives nothing until an access control names it.",
			errors: { unique: UNIQUE },
		}),
		body(create),
		async (c) => c.json(await roles.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(Role, {
			id: "getRole",
			summary: "Retrieve a role",
			description: "Returns the role. Requires level 8.",
		}),
		async (c) => c.json(await roles.find(c.var.tenant, c.req.param("id"))),
	)
	.patch(
		"/:id",
		ok(Role, {
			id: "updateRole",
			summary: "Change a role",
			description: "Requires level 8. Fields that aren't in the body don't change.",
			errors: { unique: UNIQUE, invalid_input: BUILT_IN },
		}),
		body(update, roles.findEditable),
		async (c) => c.json(await roles.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteRole",
			summary: "Delete a role",
			description:
				"Requires level 8. Also deletes its access controls. Its members immediately lose what only the role gave them.",
			errors: { invalid_input: BUILT_IN },
		}),
		async (c) => {
			await roles.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	)
	.get(
		"/:id/members",
		paginated(RoleMember, {
			id: "listRoleMembers",
			summary: "List the members who have a role",
			description:
				"Lists users and service accounts, the newest members first: those to whom people gave the role, and those who have it by a SCIM group. Requires level 8.",
		}),
		async (c) => c.json(await roles.listMembers(c.var.tenant, c.req.param("id"), page(c))),
	)
	.post(
		"/:id/members",
		created(RoleMember, {
			id: "addRoleMember",
			summary: "Give a role to a member",
			description:
				"Requires level 8. Applies to the next request with any key of the member. A role has at most 1,000 members.",
			errors: {
				does_not_exist: "The organization has no such member.",
				unique: "The member has the role already.",
			},
		}),
		body(addMember, roles.find),
		async (c) =>
			c.json(await roles.insertMember(c.var.tenant, c.req.param("id"), c.req.valid("json")), 201),
	)
	.delete(
		"/:id/members/:user_uuid",
		noContent({
			id: "removeRoleMember",
			summary: "Take a role from a member",
			description: "Requires level 8. Applies to the next request with any key of the member.",
			errors: { invalid_input: "Only a SCIM group gives the role to the member." },
		}),
		async (c) => {
			const { id, user_uuid } = c.req.param();
			await roles.removeMember(c.var.tenant, id, user_uuid);
			return c.body(null, 204);
		},
	);
