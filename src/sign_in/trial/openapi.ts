import { describe, type OpenApi } from "../../http/openapi.ts";
import type tests from "./routes.ts";
import { complete, PlannedTest, plan, SignInTestResult } from "./shape.ts";

export default {
	tag: {
		name: "Sign-in tests",
		description:
			"Testing how a domain signs people in, before they depend on it. A test is a sign-in of an admin that signs nobody in, but shows what the provider said.",
	},
	operations: {
		"POST /": {
			id: "createSignInTest",
			summary: "Start to test a connection",
			description:
				"Returns the URL where your browser starts the test, once, within ten minutes. At the end, it is at the console's page of the domain, with `#tested=` and the token for `completeSignInTest`. Requires level 8.",
			errors: { verification_required: "The domain isn't verified." },
		},
		"POST /complete": {
			id: "completeSignInTest",
			summary: "Get the result of a test",
			description:
				"Returns each check up to the first that failed, and what the provider said about you. If the address is your own, this links the account at the provider to your user, so that you can enforce the connection. Only for the admin who started the test.",
			errors: {
				expired: "The token is unknown or older than ten minutes, or the test is another user's.",
			},
		},
	},
} satisfies OpenApi<typeof tests>;

describe(plan, {
	method: [
		"Which connection.",
		{
			oidc: "The OpenID Connect provider of the domain.",
			saml: "The SAML provider of the domain.",
			"google-oauth2": "Google.",
			github: "GitHub.",
			gitlab: "GitLab.",
		},
	],
});

describe(PlannedTest, { url: "Where to continue in a browser." });

describe(complete, { token: "The token after `#tested=`." });

describe(SignInTestResult, {
	success: "Whether all checks passed.",
	steps: [
		"The checks up to the first one that failed.",
		{
			name: "What was checked: the code of the problem that it finds.",
			error: "Why the check failed; null if it passed.",
			warning: "Always null.",
		},
	],
	claims: "Everything that the provider said; null if there was no valid response.",
	is_linked: "Whether the account at the provider is linked to your user.",
});
