import { describe, type OpenApi } from "../../http/openapi.ts";
import type apiKeys from "./routes.ts";
import { create, KeyDay, PersonalApiKey, update } from "./shape.ts";

type Operations = OpenApi<ReturnType<typeof apiKeys>>["operations"];

const EXPIRY_REQUIRED =
	"The key has no `expires_at`, and an organization that it can access requires one.";

const USAGE =
	"Lists the days (UTC) of the last 90 on which the key was used, newest first. Days without use are omitted. The numbers are saved up to half a minute after the responses.";

export const ofCaller: OpenApi<ReturnType<typeof apiKeys>> = {
	tag: {
		name: "Personal API keys",
		description:
			"The keys that you use this API with. Each has scopes, and can be restricted to organizations, projects or IP addresses. `@current` stands for the one in use.",
	},
	operations: operationsOf("PersonalApiKey", {
		list: "Lists your keys without their values, newest first, including expired ones.",
		cantSee:
			"You don't belong to an organization, or can't see a project, in the restrictions. `attr` has its position.",
		full: "You already have 25 keys, or `scoped_projects` and `scoped_teams` list different projects.",
		access: "",
		whose: "your keys",
		others: "Keys of others are a 404.",
	}),
};

export const ofServiceAccount: OpenApi<ReturnType<typeof apiKeys>> = {
	tag: {
		name: "Service accounts",
		description:
			"Accounts of an organization for programs. They have a level and keys, and don't depend on the people who created them.",
	},
	operations: operationsOf("ServiceAccountKey", {
		list: "Lists the account's keys without their values, newest first. Requires level 8.",
		cantSee: "The account can't see a project in the restrictions. `attr` has its position.",
		full: "The account already has 25 keys, or `scoped_projects` and `scoped_teams` list different projects.",
		access: " Requires level 8. The key can access only the account's organization.",
		whose: "the account's keys",
		others: "Keys of others are a 404.",
	}),
};

type Words = Record<"list" | "cantSee" | "full" | "access" | "whose" | "others", string>;

function operationsOf(word: string, words: Words): Operations {
	const { cantSee: does_not_exist, full, access, whose, others } = words;
	const expiry_required = EXPIRY_REQUIRED;
	return {
		"GET /": { id: `list${word}s`, summary: `List ${whose}`, description: words.list },
		"POST /": {
			id: `create${word}`,
			summary: "Create a key",
			description: `Only this response shows the key's \`value\`: store it. A key can't create a key with more permissions or a longer life than its own: that is a 403.${access}`,
			errors: { does_not_exist, expiry_required, invalid_input: full },
		},
		"GET /:id": {
			id: `get${word}`,
			summary: "Retrieve a key",
			description: `Returns one of ${whose}, without its value. ${others}`,
		},
		"PATCH /:id": {
			id: `update${word}`,
			summary: "Change a key",
			description: `Changes one of ${whose}. The next request with the key is checked against its new scopes and restrictions. Fields that aren't in the body don't change. You can't give a key more permissions or a longer life than those of the key in use: that is a 403. The key in use must still allow your IP address.`,
			errors: {
				does_not_exist,
				expiry_required,
				invalid_input:
					"`scoped_projects` and `scoped_teams` list different projects, or the key in use would no longer allow your IP address.",
			},
		},
		"DELETE /:id": {
			id: `revoke${word}`,
			summary: "Revoke a key",
			description:
				"Deletes the key. Requests with it are rejected from now on, even if it is the key in use.",
		},
		"POST /:id/roll": {
			id: `roll${word}`,
			summary: "Give a key a new value",
			description:
				"The old value immediately stops working. Only this response shows the new `value`: store it. Scopes, restrictions and expiry stay. You can't roll a key with more permissions or a longer life than the key in use: that is a 403. An expired key is a 400: give it a later `expires_at` first.",
			errors: {
				expiry_required,
				invalid_input:
					"The key has expired, or another request rolled, changed or revoked it at the same time.",
			},
		},
		"GET /:id/usage": {
			id: `list${word}Usage`,
			summary: "List the use of a key by day",
			description: USAGE,
		},
	};
}

const LABEL = "What the key is for, in your own words.";
const SCOPES =
	"The key's permissions: `<object>:read`, `<object>:write`, which includes reading, or `*` for everything. Each operation names the scope that it requires.";
const ORGANIZATIONS =
	"The ids of the organizations that the key can access. An empty list means all of yours, including those that you join later. A key of a service account always has its own organization here, whatever you send.";
const PROJECTS =
	"The integer ids of the projects that the key can access. An empty list means all that you can see. A key restricted to projects can't use paths that begin with `/api/organizations`.";
const ALLOWED_IPS =
	"The IP addresses that the key can be used from: IPv4 or IPv6 addresses, or ranges such as `203.0.113.0/24`. An empty list allows all. Requests from other addresses are a 403.";
const TEAMS = "Another name for `scoped_projects`.";
const EXPIRY = "When the key stops working; null for never";

describe(create, {
	label: `${LABEL} At most 40 characters.`,
	scopes: `${SCOPES} At least one.`,
	scoped_organizations: `${ORGANIZATIONS} At most 100; empty by default.`,
	scoped_projects: `${PROJECTS} At most 100; empty by default.`,
	scoped_teams: `${TEAMS} Set only one of them, or both to the same projects.`,
	allowed_ips: `${ALLOWED_IPS} At most 50; empty by default.`,
	expires_at: `${EXPIRY}, which is the default. A time in the past is a 400.`,
});

describe(update, {
	label: `${LABEL} At most 40 characters.`,
	scopes: `${SCOPES} At least one. The list replaces the old one.`,
	scoped_organizations: `${ORGANIZATIONS} At most 100. The list replaces the old one.`,
	scoped_projects: `${PROJECTS} At most 100. The list replaces the old one.`,
	scoped_teams: `${TEAMS} Set only one of them, or both to the same projects.`,
	allowed_ips: `${ALLOWED_IPS} At most 50. The list replaces the old one.`,
	expires_at: `${EXPIRY}. A time in the past ends the key.`,
});

describe(PersonalApiKey, {
	id: "Identifies the key, in paths too. It isn't secret.",
	label: LABEL,
	value:
		"The key itself, for the header `Authorization: Bearer <value>`. Only in the response that creates or rolls the key; null in all others.",
	mask_value: "The last four characters of the value, as `tnt_…abcd`, to tell keys apart.",
	scopes: SCOPES,
	scoped_organizations: ORGANIZATIONS,
	scoped_projects: PROJECTS,
	scoped_teams: `${TEAMS} Always the same list.`,
	allowed_ips: ALLOWED_IPS,
	expires_at: `${EXPIRY}.`,
	created_at: "When the key was created.",
	last_used_at: "When the key was last used, to within an hour; null if never.",
	last_rolled_at: "When the key last got a new value; null if never.",
});

describe(KeyDay, {
	day: "The day, in UTC.",
	requests: "How many requests were made with the key, including rejected ones.",
	refusals:
		"How many of them were rejected with a 403 or a 429, or with a 401 because the key had expired.",
	last_address: "The IP address of the last request; null if unknown.",
});
