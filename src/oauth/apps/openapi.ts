import { describe, type OpenApi } from "../../http/openapi.ts";
import type clients from "./routes.ts";
import { create, OauthClient, update } from "./shape.ts";

const URI = "`redirect_uris` has one to which no browser may be sent. `attr` has its position.";

export default {
	tag: {
		name: "Registered apps",
		description:
			"Apps that an organization has registered, for its members. They get access to a member's account with OAuth 2.1, if the member allows it. All operations require level 8.",
	},
	operations: {
		"GET /": {
			id: "listOauthClients",
			summary: "List the registered apps",
			description: "Lists the apps that the organization has registered, newest first.",
		},
		"POST /": {
			id: "createOauthClient",
			summary: "Register an app",
			description:
				"Registers an app for the members of the organization. The `id` in the response is its `client_id`. It has no secret.",
			errors: { invalid_input: URI },
		},
		"GET /:id": {
			id: "getOauthClient",
			summary: "Retrieve a registered app",
			description: "Returns the app.",
		},
		"PATCH /:id": {
			id: "updateOauthClient",
			summary: "Change a registered app",
			description:
				"Fields that aren't in the body don't change. From the next request on, the app can't continue at a redirect URI that was removed. What members have allowed stays.",
			errors: { invalid_input: URI },
		},
		"DELETE /:id": {
			id: "deleteOauthClient",
			summary: "Delete a registered app",
			description: "Also ends all access that members have given the app.",
		},
	},
} satisfies OpenApi<typeof clients>;

const NAME = "What members see when the app asks for access, at most 40 characters.";
const REDIRECT_URIS =
	"Where the app may continue, 1 to 50: https URLs, URLs of the person's computer, whose port may differ in each request, or ones with the app's own scheme such as `com.example.notes:`, which no browser or system opens itself.";

describe(create, { name: NAME, redirect_uris: REDIRECT_URIS });
describe(update, {}, create);

describe(OauthClient, {
	id: "Identifies the app, in paths too. Its `client_id`.",
	name: NAME,
	redirect_uris: REDIRECT_URIS,
	created_at: "When the app was registered.",
});
