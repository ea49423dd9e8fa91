import * as z from "zod";
import { redirects, router, samlMetadata } from "../../http/router.ts";

/** The form that the page of a provider posts (saml-bindings 3.5.4). Other fields are ignored. */
const SamlResponse = z.object({
	SAMLResponse: z.string().describe("The response, XML in Base64."),
	RelayState: z
		.string()
		.optional()
		.describe("What the request had in the query parameter of this name, if there was one."),
});

/** Signing in through a domain's SAML provider (docs/sign-on.md#saml). */
export default router({
	name: "SAML",
	description:
		"Signing in through a domain's SAML provider. People's browsers and providers send these requests, not programs.",
	parameters: { domain_id: z.guid().describe("The domain's id.") },
})
	.get(
		"/:domain_id/metadata",
		samlMetadata({
			id: "getSamlMetadata",
			summary: "Get the metadata for a domain's provider",
			description:
				"What the provider needs to know: the entity id, which is the URL of this operation, and the URL that it posts responses to. It depends only on the domain's id.",
		}),
		async (c) => {
			const { metadata } = await import("./connection.ts");
			return metadata(c, c.req.param("domain_id"));
		},
	)
	.get(
		"/:domain_id/start",
		redirects({
			id: "startSaml",
			summary: "Start signing in through SAML",
			description:
				"Redirects to the domain's provider, with a request that it must respond to within ten minutes. `?test=` makes it a test (see `createSignInTest`). If that isn't possible, redirects to the console, with the code of the problem.",
		}),
		async (c) => {
			const { request } = await import("./start.ts");
			return request(c, c.req.param("domain_id"));
		},
	)
	.post(
		"/:domain_id/acs",
		redirects({
			form: SamlResponse,
			id: "acceptSamlResponse",
			summary: "Accept a provider's response",
			description:
				"The provider's page posts the form field `SAMLResponse`. Redirects to the end of the sign-in. If the response is rejected, redirects to the console, with the code of the problem.",
		}),
		async (c) => {
			const { accept } = await import("./accept.ts");
			return accept(c, c.req.param("domain_id"));
		},
	);
