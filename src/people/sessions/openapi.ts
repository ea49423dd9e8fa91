import { describe, type OpenApi } from "../../http/openapi.ts";
import type sessions from "./routes.ts";
import { Session } from "./shape.ts";

export default {
	tag: {
		name: "Sessions",
		description:
			"Where you are signed in to the console. API keys, also one that you signed in with, are no sessions.",
	},
	operations: {
		"GET /": {
			id: "listSessions",
			summary: "List your sessions",
			description: "Lists your sessions that haven't expired, newest first.",
		},
		"POST /end_others": {
			id: "endOtherSessions",
			summary: "End your other sessions",
			description:
				"Ends all your sessions but the one of this request. With an API key, all your sessions end.",
		},
		"DELETE /:id": {
			id: "endSession",
			summary: "End a session",
			description: "The next request of the session is rejected. It can be the current session.",
		},
	},
} satisfies OpenApi<typeof sessions>;

describe(Session, {
	id: "Identifies the session.",
	created_at: "When you signed in.",
	last_used_at: "When the session was last used. Up to an hour older than its last request.",
	expires_at: "When the session ends if it isn't used any more.",
	method: "How you signed in: `mail`, `passkey`, or the kind of provider, such as `saml`.",
	connection: "The provider that signed you in; null for others.",
	address: "The IP address that you signed in from; null if it is unknown.",
	user_agent: "The browser that you signed in with, as it names itself; null if it doesn't.",
	is_current: "Whether this request belongs to the session.",
});
