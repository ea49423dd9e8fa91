import type { Reference } from "../http/reference.ts";
import type projectMembers from "./routes.ts";

const reference: Reference<typeof projectMembers> = {
	tag: {
		name: "Project members",
		description:
			"Members of the organization who can see a private project. Level 8 makes one an admin of the project.",
	},
	operations: {
		"/": {
			get: {
				id: "listProjectMembers",
				summary: "List the members of a project",
				description:
					"Lists the project's own members, newest first. Admins of the organization see the project without being listed.",
			},
			post: {
				id: "addProjectMember",
				summary: "Add a member to a project",
				description: "Requires level 8. The user has to be a member of the organization.",
				errors: {
					does_not_exist: "The user isn't a member of the organization.",
					unique: "The user is already a member of the project.",
				},
			},
		},
		"/:user_uuid": {
			delete: {
				id: "removeProjectMember",
				summary: "Remove a member from a project",
				description: "Requires level 8. The user stays a member of the organization.",
			},
		},
	},
};
export default reference;
