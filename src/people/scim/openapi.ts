import { describe, type OpenApi } from "../../http/openapi.ts";
import type scim from "./routes.ts";
import { ScimGroup, ScimRequest, ScimToken, update } from "./shape.ts";

export default {
	tag: {
		name: "SCIM",
		description:
			"Lets the identity provider of a verified domain manage members and their access. The provider uses the SCIM endpoint at `/scim/v2/:domain_id`, which describes itself as SCIM 2.0 requires. These operations are for admins who set it up.",
	},
	operations: {
		"GET /tokens": {
			id: "listScimTokens",
			summary: "List the SCIM tokens of a domain",
			description: "Lists the tokens that work, newest first. Requires level 8.",
		},
		"POST /tokens": {
			id: "createScimToken",
			summary: "Create or replace a SCIM token",
			description:
				"Requires level 8. Only this response shows the value. If the domain has a token already, it works for another 24 hours, so that you can replace it at the provider.",
			errors: {
				verification_required: "The domain isn't verified.",
				invalid_input: "The domain has two tokens that work. Revoke one of them.",
			},
		},
		"DELETE /tokens/:token_id": {
			id: "deleteScimToken",
			summary: "Revoke a SCIM token",
			description: "Requires level 8. The next request with the token is rejected.",
		},
		"GET /groups": {
			id: "listScimGroups",
			summary: "List the groups of a domain's provider",
			description:
				"Lists the groups that the provider has sent, newest first, with what they grant. Requires level 8.",
		},
		"PATCH /groups/:group_id": {
			id: "updateScimGroup",
			summary: "Set what a group grants",
			description:
				"Requires level 8. The members of the group get the level and the memberships of projects at once, and lose what only the group gave them. Access that people gave them stays.",
			errors: {
				does_not_exist:
					"The organization has no such project, or you can't see it. `attr` has its position.",
			},
		},
		"GET /requests": {
			id: "listScimRequests",
			summary: "List the last requests of a domain's provider",
			description:
				"Lists the last 200 requests to the SCIM endpoint with their responses, newest first. Requires level 8.",
		},
	},
} satisfies OpenApi<typeof scim>;

describe(ScimToken, {
	id: "Identifies the token, in paths too.",
	value: "The token, only in the response that creates it; else null.",
	mask_value: "The last four characters of the value, to tell tokens apart.",
	created_at: "When the token was created.",
	expires_at: "When the token ends, because another one has replaced it; null if none has.",
	last_used_at: "When the token was last used, to within an hour; null if it never was.",
});

const LEVEL =
	"The level that the group gives its members: 1 for a member, 8 for an admin. Null: the group doesn't change it.";
const PROJECTS = "The projects that the group makes its members members of.";
const OF_PROJECT = {
	id: "The id of the project.",
	level: "The level in the project: 1 for a member, 8 for an admin.",
};

describe(ScimGroup, {
	id: "Identifies the group, in paths and in SCIM.",
	display_name: "The name of the group at the provider.",
	external_id: "The provider's own id of the group; null if it sends none.",
	members: "The number of its members.",
	level: LEVEL,
	projects: [PROJECTS, OF_PROJECT],
	created_at: "When the provider created the group.",
	updated_at: "When the group was last changed.",
});

describe(update, {
	level: LEVEL,
	projects: [`${PROJECTS} At most 50. The list replaces the old one.`, OF_PROJECT],
});

describe(ScimRequest, {
	id: "Identifies the request. Ids sort by time.",
	method: "The method of the request.",
	path: "The path below the base URL, with its query.",
	status: "The status of the response.",
	request:
		"The body of the request as JSON, without secrets, at most 4,000 characters; null if it had none.",
	response: "The body of the response, in the same way.",
	ignored:
		"What of a successful request wasn't carried out, and why: at most 50 texts, each with the name of the attribute or the path. Empty if all was.",
	created_at: "When the request was made.",
});
