import { quoted } from "../../lib/text.ts";
import { ALGORITHMS, type Document, signedContent } from "./signature.ts";
import {
	allElements,
	child,
	children,
	isNamed,
	parse,
	ResponseError,
	textOf,
	type XmlElement,
} from "./xml.ts";

const SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success";

/** Decodes Base64 and UTF-8. */
function decode(base64: string) {
	try {
		const bytes = Uint8Array.fromBase64(base64);
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
	} catch {
		throw new ResponseError("The response isn't UTF-8 in Base64.");
	}
}

/** Returns what the signature of an element covers. */
function verified(document: Document, element: XmlElement, certificates: string[]) {
	const content = signedContent(document, element, certificates);
	if (content === undefined)
		throw new ResponseError("No certificate of the domain verifies a signature of the assertion.");
	return parse(content);
}

/** Checks the response before its signature is verified. */
function checkDocument(root: XmlElement) {
	if (!isNamed(root, "samlp:Response")) throw new ResponseError("The XML isn't a SAML response.");
	const elements = allElements(root);
	const status = child(child(root, "samlp:Status"), "samlp:StatusCode").getAttribute("Value");
	if (status !== SUCCESS)
		throw new ResponseError(
			`The provider responded with the status ${quoted(status)}.`,
			"provider_denied",
		);
	if (elements.some(({ localName }) => localName.startsWith("Encrypted")))
		throw new ResponseError("The assertion is encrypted. Turn encryption off at the provider.");
	const wrong = elements
		.flatMap(({ attributes }) => Array.from(attributes))
		.find(({ localName, value }) => localName === "Algorithm" && !ALGORITHMS.has(value));
	if (wrong) throw new ResponseError(`Signatures can't use the algorithm ${quoted(wrong.value)}.`);
	// Attacks on signatures add another assertion.
	const assertions = elements.filter(({ localName }) => localName === "Assertion");
	if (assertions.length !== 1)
		throw new ResponseError(`The response has ${assertions.length} assertions, instead of one.`);
}

/** The content of a response beside its assertion. */
export type Envelope = { issuer: string | null; destination: string; in_response_to: string };

/**
 * Verifies that a signature of the response or, if it has none, of the assertion, covers the
 * assertion (saml-core 5). The assertion that is returned was parsed from what was signed.
 * @param base64 the form field `SAMLResponse`
 * @param certificates PEM; one of them must have signed
 * @throws ResponseError
 */
export async function readResponse(base64: string, certificates: string[]) {
	const xml = decode(base64);
	const root = await parse(xml);
	checkDocument(root);
	const document = { xml, root };
	const isSigned = children(root, "ds:Signature").length > 0;
	const response = isSigned ? await verified(document, root, certificates) : root;
	const inside = child(response, "saml:Assertion");
	const assertion = isSigned ? inside : await verified(document, inside, certificates);
	const [issuer] = children(response, "saml:Issuer");
	const envelope: Envelope = {
		issuer: issuer ? (textOf(issuer) ?? "") : null,
		destination: response.getAttribute("Destination"),
		in_response_to: response.getAttribute("InResponseTo"),
	};
	return { envelope, assertion };
}
