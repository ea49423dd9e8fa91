import type { OpenApi } from "../../http/openapi.ts";
import type sso from "./routes.ts";

export default {
	tag: {
		name: "Single sign-on",
		description:
			"Signing in through a provider, for browsers: each page only redirects. At the end, the console gets a link that signs in, as from a mail, or the code of a problem.",
	},
	operations: {
		"GET /oidc/:domain_id/start": {
			id: "startDomainSignOn",
			summary: "Sign in through the provider of a domain",
			description:
				"Redirects to the OpenID Connect provider of the domain. `?email=` is passed on as a hint, and `?test=` makes it a test (see `createSignInTest`).",
		},
		"GET /oidc/:domain_id/callback": {
			id: "returnFromDomainSignOn",
			summary: "Return from the provider of a domain",
			description:
				"The URL to enter at the provider. Checks its response, and redirects to the console.",
		},
		"GET /:provider/start": {
			id: "startSignOn",
			summary: "Sign in through Google, GitHub or GitLab",
			description: "Redirects to the provider, if the operator has set it up.",
		},
		"GET /:provider/callback": {
			id: "returnFromSignOn",
			summary: "Return from Google, GitHub or GitLab",
			description:
				"The URL that the operator enters at the provider. Checks its response, and redirects to the console.",
		},
		"GET /finish": {
			id: "finishSignOn",
			summary: "Finish signing in",
			description:
				"Where a browser continues after a provider has sent its response with a POST. Redirects to the console.",
		},
	},
} satisfies OpenApi<typeof sso>;
