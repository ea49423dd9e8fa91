import { describe, type OpenApi } from "../../http/openapi.ts";
import type saml from "./routes.ts";
import { SamlResponse } from "./shape.ts";

describe(SamlResponse, {
	SAMLResponse: "The response, XML in Base64.",
	RelayState: "What the request had in the query parameter of this name, if there was one.",
});

export default {
	tag: {
		name: "SAML",
		description:
			"Signing in through a domain's SAML provider. People's browsers and providers send these requests, not programs.",
	},
	operations: {
		"GET /:domain_id/metadata": {
			id: "getSamlMetadata",
			summary: "Get the metadata for a domain's provider",
			description:
				"What the provider needs to know: the entity id, which is the URL of this operation, and the URL that it posts responses to. It depends only on the domain's id.",
		},
		"GET /:domain_id/start": {
			id: "startSaml",
			summary: "Start signing in through SAML",
			description:
				"Redirects to the domain's provider, with a request that it must respond to within ten minutes. `?test=` makes it a test (see `createSignInTest`). If that isn't possible, redirects to the console, with the code of the problem.",
		},
		"POST /:domain_id/acs": {
			id: "acceptSamlResponse",
			summary: "Accept a provider's response",
			description:
				"The provider's page posts the form field `SAMLResponse`. Redirects to the end of the sign-in. If the response is rejected, redirects to the console, with the code of the problem.",
		},
	},
} satisfies OpenApi<typeof saml>;
