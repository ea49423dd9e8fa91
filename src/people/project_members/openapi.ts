import { describe, type OpenApi } from "../../http/openapi.ts";
import type projectMembers from "./routes.ts";
import { create, ProjectMember } from "./shape.ts";

export default {
	tag: {
		name: "Project members",
		description:
			"Members of the organization who can see a private project. Members with level 8 are admins of the project.",
	},
	operations: {
		"GET /": {
			id: "listProjectMembers",
			summary: "List the members of a project",
			description:
				"Lists the project's own members whose users are active, newest first. Admins and owners of the organization see the project without being listed. Anyone who can see the project may do so.",
		},
		"POST /": {
			id: "addProjectMember",
			summary: "Add a member to a project",
			description:
				"Requires level 8, in the organization or the project. To change a level, remove the member and add it again.",
			errors: {
				does_not_exist: "The user isn't an active member of the organization.",
				unique: "The user is already a member of the project.",
			},
		},
		"DELETE /:user_uuid": {
			id: "removeProjectMember",
			summary: "Remove a member from a project",
			description:
				"Requires level 8, in the organization or the project. The user stays a member of the organization.",
		},
	},
} satisfies OpenApi<typeof projectMembers>;

const LEVEL =
	"1 lets the user see the project while it is private. 8 also lets the user change the project and its members, but not delete it.";

describe(create, {
	user_uuid: "The `uuid` of the user, who has to be an active member of the organization.",
	level: LEVEL,
});

describe(ProjectMember, {
	id: "Identifies the project membership. In paths, use the `uuid` of the `user`.",
	user: "The user who is the member.",
	level: LEVEL,
	joined_at: "When the user was added to the project.",
	updated_at: "The same as `joined_at`: a project membership is never changed.",
});
