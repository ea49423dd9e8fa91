import * as z from "zod";
import { body } from "../../access/input.ts";
import { atLeast, needs } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as members from "./queries.ts";
import { create, ProjectMember, update } from "./shape.ts";

/** docs/organizations.md#projects. */
export default router({
	name: "Project members",
	description:
		"Members of the organization who can see a private project. Members with level 8 are admins of the project.",
	parameters: { user_uuid: z.guid().describe("The uuid of the member's user.") },
})
	.get(
		"/",
		paginated(ProjectMember, {
			id: "listProjectMembers",
			summary: "List the members of a project",
			description:
				"Lists the project's own members whose users are active, newest first. Admins and owners of the organization see the project without being listed. Anyone who can see the project may do so.",
		}),
		async (c) => c.json(await members.list(c.var.tenant, page(c))),
	)
	.post(
		"/",
		created(ProjectMember, {
			id: "addProjectMember",
			summary: "Add a member to a project",
			description: "Requires level 8, in the organization or the project.",
			errors: {
				does_not_exist: "The user isn't an active member of the organization.",
				unique: "The user is already a member of the project.",
			},
		}),
		atLeast(ADMIN),
		needs("manager"),
		body(create),
		async (c) => c.json(await members.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.patch(
		"/:user_uuid",
		ok(ProjectMember, {
			id: "updateProjectMember",
			summary: "Change the level of a member in a project",
			description:
				"Requires level 8, in the organization or the project. Returns the member. Changing your own level is allowed.",
		}),
		atLeast(ADMIN),
		needs("manager"),
		body(update, members.find),
		async (c) =>
			c.json(await members.update(c.var.tenant, c.req.param("user_uuid"), c.req.valid("json"))),
	)
	.delete(
		"/:user_uuid",
		noContent({
			id: "removeProjectMember",
			summary: "Remove a member from a project",
			description:
				"Requires level 8, in the organization or the project. The user stays a member of the organization.",
		}),
		atLeast(ADMIN),
		async (c) => {
			await members.remove(c.var.tenant, c.req.param("user_uuid"));
			return c.body(null, 204);
		},
	);
