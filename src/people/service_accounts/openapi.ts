import { describe, type OpenApi } from "../../http/openapi.ts";
import { ofServiceAccount } from "../personal_api_keys/openapi.ts";
import type serviceAccounts from "./routes.ts";
import { create, ServiceAccount, update } from "./shape.ts";

const CANT_SEE =
	"The organization has no such project, or you can't see it. `attr` has its position.";

export default {
	tag: ofServiceAccount.tag,
	operations: {
		"GET /": {
			id: "listServiceAccounts",
			summary: "List the service accounts of an organization",
			description: "Lists the accounts, newest first. Requires level 8.",
		},
		"POST /": {
			id: "createServiceAccount",
			summary: "Create a service account",
			description: "Requires level 8. Create a key for it next.",
			errors: { does_not_exist: CANT_SEE },
		},
		"GET /:id": {
			id: "getServiceAccount",
			summary: "Retrieve a service account",
			description: "Returns the account. Requires level 8.",
		},
		"PATCH /:id": {
			id: "updateServiceAccount",
			summary: "Change a service account",
			description:
				"Requires level 8. Changes apply to the next request with any of the account's keys.",
			errors: { does_not_exist: CANT_SEE },
		},
		"DELETE /:id": {
			id: "deleteServiceAccount",
			summary: "Delete a service account",
			description:
				"Requires level 8. Its keys immediately stop working. Activity log entries keep its name.",
		},
	},
} satisfies OpenApi<typeof serviceAccounts>;

const NAME = "What the account is for, in your own words. At most 64 characters.";
const LEVEL =
	"Its level in the organization: 1 for a member, 8 for an admin. The scopes of its keys limit it further.";
const PROJECTS =
	"The ids of the private projects that it can see, in addition to public ones. With level 8, it can see all.";

describe(create, {
	name: NAME,
	level: `${LEVEL} 1 by default.`,
	projects: `${PROJECTS} At most 100; empty by default.`,
});

describe(update, {
	name: NAME,
	level: LEVEL,
	projects: `${PROJECTS} At most 100. The list replaces the old one.`,
});

describe(ServiceAccount, {
	id: "Identifies the account, in paths too. In the activity log it is the `uuid` of the user.",
	name: NAME,
	level: LEVEL,
	projects: PROJECTS,
	created_at: "When the account was created.",
	created_by: "The user or service account that created it.",
	last_used_at: "When one of its keys was last used, to within an hour; null if none was.",
});
