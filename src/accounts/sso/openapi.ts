import type { OpenApi } from "../../http/openapi.ts";
import type sso from "./routes.ts";

export default {
	tag: {
		name: "Single sign-on",
		description:
			"Signing in through a provider, for browsers: each page only redirects. At the end, the console gets a link that signs in, as from a mail, or the code of a problem.",
	},
	operations: {
		"GET /finish": {
			id: "finishSignOn",
			summary: "Finish signing in",
			description:
				"Where a browser continues after a provider has sent its response with a POST. Redirects to the console.",
		},
	},
} satisfies OpenApi<typeof sso>;
