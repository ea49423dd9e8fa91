import * as z from "zod";
import { redirects, router } from "../../http/router.ts";
import { METHODS } from "../../people/connections.ts";
import { finish } from "../provider/finish.ts";
import { callback, domainIn, goToProvider, providerIn } from "./sign_on.ts";

/**
 * Signing in through a provider: pages that only redirect (docs/sign-on.md). They are the only GETs
 * that write, because browsers come to them through redirects.
 */
export default router({
	name: "Single sign-on",
	description:
		"Signing in through a provider, for browsers: each page only redirects. At the end, the console gets a link that signs in, as from a mail, or the code of a problem.",
	parameters: {
		domain_id: z.guid().describe("The domain's id."),
		provider: z
			.enum(METHODS)
			.exclude(["saml", "oidc"])
			.describe("The provider, as in `sso_enforcement`."),
	},
})
	.get(
		"/oidc/:domain_id/start",
		redirects({
			id: "startDomainSignOn",
			summary: "Sign in through the provider of a domain",
			description:
				"Redirects to the OpenID Connect provider of the domain. `?email=` is passed on as a hint, and `?test=` makes it a test (see `createSignInTest`).",
		}),
		(c) => goToProvider(c, domainIn(c)),
	)
	.get(
		"/oidc/:domain_id/callback",
		redirects({
			id: "returnFromDomainSignOn",
			summary: "Return from the provider of a domain",
			description:
				"The URL to enter at the provider. Checks its response, and redirects to the console.",
		}),
		(c) => callback(c, domainIn(c)),
	)
	.get(
		"/:provider/start",
		redirects({
			id: "startSignOn",
			summary: "Sign in through Google, GitHub or GitLab",
			description: "Redirects to the provider, if the operator has set it up.",
		}),
		(c) => goToProvider(c, providerIn(c)),
	)
	.get(
		"/:provider/callback",
		redirects({
			id: "returnFromSignOn",
			summary: "Return from Google, GitHub or GitLab",
			description:
				"The URL that the operator enters at the provider. Checks its response, and redirects to the console.",
		}),
		(c) => callback(c, providerIn(c)),
	)
	.get(
		"/finish",
		redirects({
			id: "finishSignOn",
			summary: "Finish signing in",
			description:
				"Where a browser continues after a provider has sent its response with a POST. Redirects to the console.",
		}),
		(c) => finish(c, c.req.query("token") ?? ""),
	);
