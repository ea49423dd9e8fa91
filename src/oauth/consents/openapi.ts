import { describe, type OpenApi } from "../../http/openapi.ts";
import type grants from "./routes.ts";
import type { inOrganization } from "./routes.ts";
import { OauthGrant, OrganizationOauthGrant } from "./shape.ts";

const tag = {
	name: "Apps",
	description: "The access that people have given to apps with OAuth 2.1.",
};

export default {
	tag,
	operations: {
		"GET /": {
			id: "listOauthGrants",
			summary: "List your apps",
			description: "Lists the apps that you have given access, newest first.",
		},
		"DELETE /:id": {
			id: "revokeOauthGrant",
			summary: "End the access of an app",
			description: "The next request of the app is rejected. It can ask you again.",
		},
	},
} satisfies OpenApi<typeof grants>;

export const ofOrganization = {
	tag,
	operations: {
		"GET /": {
			id: "listOrganizationOauthGrants",
			summary: "List the apps of the members of an organization",
			description:
				"Lists the apps that members have given access to the organization, newest first. Requires level 8.",
		},
		"DELETE /:id": {
			id: "revokeOrganizationOauthGrant",
			summary: "End the access of a member's app",
			description:
				"The next request of the app is rejected, also one to another organization of the member. The member gets a mail. Requires level 8.",
		},
	},
} satisfies OpenApi<typeof inOrganization>;

const COMMON = {
	id: "Identifies the access.",
	client_id:
		"Identifies the app: the URL of the document about it, or the id that it got when it was registered.",
	client_name: "What the app calls itself. Anyone can choose any name.",
	client_host:
		"The host of the app's document, whose owner is responsible for the app; null if there is no document.",
	audience: "What the tokens are for: `api` or `mcp`.",
	scopes: "The permissions of the app.",
	created_at: "When the access was given.",
	last_used_at: "When the access was last used. Up to an hour older than the last request.",
	ends_at: "When the access ends; null if it ends when it isn't used for 30 days.",
};

describe(OauthGrant, {
	...COMMON,
	scoped_organizations:
		"The ids of the organizations that the app can access. An empty list means all of yours.",
	scoped_projects:
		"The integer ids of the projects that the app can access. An empty list means all that you can see.",
});

describe(OrganizationOauthGrant, { ...COMMON, user: "The member who has given the access." });
