import * as z from "zod";

/** The form that the page of a provider posts (saml-bindings 3.5.4). Other fields are ignored. */
export const SamlResponse = z.object({
	SAMLResponse: z.string().describe("The response, XML in Base64."),
	RelayState: z
		.string()
		.optional()
		.describe("What the request had in the query parameter of this name, if there was one."),
});
