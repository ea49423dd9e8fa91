import { describe, type Reference } from "../http/reference.ts";
import type personalApiKeys from "./routes.ts";
import { create, PersonalApiKey, update } from "./shape.ts";

const CANT_SEE =
	"You don't belong to an organization, or can't see a project, in the restrictions. `attr` has its position.";

const reference: Reference<typeof personalApiKeys> = {
	tag: {
		name: "Personal API keys",
		description:
			"The keys with which you use this API. Each has scopes, and may be restricted to organizations or projects. `@current` stands for the one in use.",
	},
	operations: {
		"/": {
			get: {
				id: "listPersonalApiKeys",
				summary: "List your keys",
				description:
					"Lists your keys without their values, newest first. Expired keys are listed, too.",
			},
			post: {
				id: "createPersonalApiKey",
				summary: "Create a key",
				description:
					"Only this answer shows the key's `value`: store it. A key can't create one that may do more than itself, or lives longer: that is a 403.",
				errors: {
					does_not_exist: CANT_SEE,
					invalid_input:
						"You have 25 keys already, or `scoped_projects` and `scoped_teams` list different projects.",
				},
			},
		},
		"/:id": {
			get: {
				id: "getPersonalApiKey",
				summary: "Retrieve a key",
				description: "Answers with one of your keys, without its value. Keys of others are a 404.",
			},
			patch: {
				id: "updatePersonalApiKey",
				summary: "Change a key",
				description:
					"Changes one of your keys. The next request with the key is checked against its new scopes and restrictions. Fields that aren't in the body stay as they are. A key can't be given more than the key in use may do, or a longer life: that is a 403.",
				errors: {
					does_not_exist: CANT_SEE,
					invalid_input: "`scoped_projects` and `scoped_teams` list different projects.",
				},
			},
			delete: {
				id: "revokePersonalApiKey",
				summary: "Revoke a key",
				description:
					"Deletes the key. Requests with it are refused from now on, also if it is the one in use.",
			},
		},
		"/:id/roll": {
			post: {
				id: "rollPersonalApiKey",
				summary: "Give a key a new value",
				description:
					"The old value stops working at once. Only this answer shows the new `value`: store it. Scopes, restrictions and expiry stay. A key that may do more than the one in use, or lives longer, can't be rolled: that is a 403.",
				errors: { invalid_input: "Another request rolled, changed or revoked the key meanwhile." },
			},
		},
	},
};
export default reference;

const LABEL = "What the key is for, in your own words.";
const SCOPES =
	"What the key may do: `<object>:read`, `<object>:write`, which includes reading, or `*` for everything. Each operation names the scope that it requires.";
const ORGANIZATIONS =
	"The ids of the organizations that the key may reach. An empty list means all of yours, also those you join later.";
const PROJECTS =
	"The ids of the projects that the key may reach, each by its integer `id`. An empty list means all that you can see. A key restricted to projects can't use paths that begin with `/api/organizations`.";
const TEAMS = "Another name for `scoped_projects`.";
const EXPIRY = "When the key stops working; null for never";
const IN_THE_PAST = "A time in the past disables the key.";

describe(create, {
	label: `${LABEL} At most 40 characters.`,
	scopes: `${SCOPES} At least one.`,
	scoped_organizations: `${ORGANIZATIONS} At most 100; empty by default.`,
	scoped_projects: `${PROJECTS} At most 100; empty by default.`,
	scoped_teams: `${TEAMS} Set only one of them, or both to the same projects.`,
	expires_at: `${EXPIRY}, which is the default. ${IN_THE_PAST}`,
});

describe(update, {
	label: `${LABEL} At most 40 characters.`,
	scopes: `${SCOPES} At least one. The list replaces the old one.`,
	scoped_organizations: `${ORGANIZATIONS} At most 100. The list replaces the old one.`,
	scoped_projects: `${PROJECTS} At most 100. The list replaces the old one.`,
	scoped_teams: `${TEAMS} Set only one of them, or both to the same projects.`,
	expires_at: `${EXPIRY}. ${IN_THE_PAST}`,
});

describe(PersonalApiKey, {
	id: "Identifies the key, in paths too. It isn't secret.",
	label: LABEL,
	value:
		"The key itself, for the header `Authorization: Bearer <value>`. Only in the answer that creates or rolls the key; null in all others.",
	mask_value: "The last four characters of the value, as `tnt_…abcd`, to tell keys apart.",
	scopes: SCOPES,
	scoped_organizations: ORGANIZATIONS,
	scoped_projects: PROJECTS,
	scoped_teams: `${TEAMS} Always the same list.`,
	expires_at: `${EXPIRY}.`,
	created_at: "When the key was created.",
	last_used_at: "When the key was last used, to within an hour; null if never.",
	last_rolled_at: "When the key last got a new value; null if never.",
});
