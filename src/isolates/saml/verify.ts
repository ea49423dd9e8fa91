import { type Parties, readAssertion } from "./assertion.ts";
import { certificatesIn } from "./certificates.ts";
import { toClaims } from "./claims.ts";
import { readResponse } from "./response.ts";
import { ResponseError } from "./xml.ts";

/**
 * Returns what a response says, once it is known that the domain's provider says it to this service
 * now.
 * @param response the form field `SAMLResponse`
 * @throws ResponseError
 */
export async function verify(parties: Parties, response: string) {
	const certificates = certificatesIn(parties.saml_x509_cert);
	if (certificates.length === 0)
		throw new ResponseError("saml_x509_cert can't be read. Enter it again.", "not_configured");
	const { envelope, assertion } = await readResponse(response, certificates);
	const read = readAssertion(assertion, envelope, parties, Date.now());
	const { id, expires, in_response_to } = read;
	return { id, expires, in_response_to, ...toClaims(read) };
}
