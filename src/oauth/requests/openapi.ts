import { describe, type OpenApi } from "../../http/openapi.ts";
import type apps from "./routes.ts";
import { AppRequest, AppResponse, approval, previewed, request } from "./shape.ts";

const INVALID = "The app can't be identified, or `redirect_uri` isn't one of its own.";

export default {
	tag: {
		name: "App requests",
		description:
			"The decision of a person about an app that asks for access with OAuth 2.1. The console calls these operations. Apps call `/oauth/token`.",
	},
	operations: {
		"POST /preview": {
			id: "previewAppRequest",
			summary: "Describe the request of an app",
			description:
				"Checks the request of an app, and returns what to show to the person, or the error that the app gets. If the app isn't registered, the service fetches the document about it from `client_id`.",
			errors: { invalid_input: INVALID },
		},
		"POST /": {
			id: "approveAppRequest",
			summary: "Allow an app",
			description:
				"Allows the app what it asks for, or a part of it. The code in the response works once, for a minute. You can't give an app more permissions than the key in use has: that is a 403.",
			errors: {
				does_not_exist:
					"You don't belong to an organization, or can't see a project, in the restrictions. `attr` has its position.",
				expiry_required:
					"The access doesn't end, and an organization that it includes requires that keys expire.",
				invalid_input: `${INVALID} Or \`resource\` names nothing of this service, or \`scopes\` has one that the app doesn't ask for.`,
			},
		},
	},
} satisfies OpenApi<typeof apps>;

const CLIENT_ID =
	"The URL of the document about the app, or the id that it got when it was registered.";

const REQUEST = {
	response_type: "Always `code`.",
	client_id: CLIENT_ID,
	redirect_uri:
		"Where the app continues. It must be one of the app's, except for the port of a program on your computer.",
	code_challenge: "The SHA-256 of the app's secret for this request, in base64url (PKCE).",
	code_challenge_method: "Always `S256`.",
	scope:
		"The scopes that the app asks for, separated by spaces. Without a known one, all `:read` scopes.",
	state: "A text that the app gets back.",
	resource:
		"The URL of the API or of the MCP server, which the tokens are for; by default the API.",
};

describe(request, REQUEST);
describe(previewed, REQUEST);

/** What a person allows. */
export const APPROVAL = {
	scopes: "The permissions that the app gets, at most those in `scope`. At least one.",
	scoped_organizations:
		"The ids of the organizations that the app can access. An empty list, the default, means all of yours.",
	scoped_projects:
		"The integer ids of the projects that the app can access. An empty list, the default, means all that you can see.",
	ends_at:
		"When the access ends; null, the default, for when it isn't used for 30 days. A time in the past is a 400.",
};

describe(approval, { ...REQUEST, ...APPROVAL });

/** What an app asks for. */
export const REQUESTED = {
	client_id: CLIENT_ID,
	client_name: "What the app calls itself. Anyone can choose any name.",
	client_host:
		"The host of the app's document, whose owner is responsible for the app; null for an app without a document.",
	client_organization:
		"The name of the organization that registered the app; null for others. If `client_host` is null too, the app has registered itself: nobody vouches for it.",
	audience: "What the tokens are for: `api` or `mcp`.",
	scopes: "The permissions that the app asks for.",
};

describe(AppRequest, {
	...REQUESTED,
	redirect_host: "The host at which the app continues; null for a program on your computer.",
	error:
		"What is wrong with the request: `invalid_request`, `unsupported_response_type` or `invalid_target`. The app gets it at `cancel_url`. null if the person can decide.",
	cancel_url: "Where the browser goes if the person doesn't allow the app, with the error.",
});

describe(AppResponse, { redirect_url: "Where the browser goes, with the code for the app." });
