import * as z from "zod";

/** What the page of a provider posts (saml-bindings 3.5.4). Other fields are ignored. */
export const SamlResponse = z.object({
	SAMLResponse: z.string(),
	RelayState: z.string().optional(),
});
