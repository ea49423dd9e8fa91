import { X509Certificate } from "node:crypto";
import { certificatesIn, MAX_CERTIFICATES } from "./certificates.ts";
import {
	allElements,
	children,
	isNamed,
	parse,
	ResponseError,
	textOf,
	type XmlElement,
} from "./xml.ts";

const SAML2 = "urn:oasis:names:tc:SAML:2.0:protocol";
const REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";

/** Returns the certificates that the provider signs with, as PEM. */
function certificatesOf(descriptor: XmlElement) {
	const texts = children(descriptor, "md:KeyDescriptor")
		.filter((key) => ["", "signing"].includes(key.getAttribute("use")))
		.flatMap((key) => children(key, "ds:KeyInfo"))
		.flatMap((info) => children(info, "ds:X509Data"))
		.flatMap((data) => children(data, "ds:X509Certificate"))
		.map((certificate) => (textOf(certificate) ?? "").replace(/\s/g, ""));
	const all = [...new Set(texts)].filter(Boolean).flatMap(certificatesIn);
	const isCurrent = (pem: string) => Date.parse(new X509Certificate(pem).validTo) > Date.now();
	const found = all.length > MAX_CERTIFICATES ? all.filter(isCurrent) : all;
	if (found.length === 0)
		throw new ResponseError("The metadata has no certificate with an RSA key for signing.");
	if (found.length > MAX_CERTIFICATES)
		throw new ResponseError(
			`The metadata has ${found.length} certificates for signing. Enter the one or two that the provider uses.`,
		);
	return found.join("");
}

/** Returns the URL at the provider that requests go to. */
function signInUrlOf(descriptor: XmlElement) {
	const url = children(descriptor, "md:SingleSignOnService")
		.find((service) => service.getAttribute("Binding") === REDIRECT)
		?.getAttribute("Location");
	if (!/^https?:$/.test(URL.parse(url ?? "")?.protocol ?? ""))
		throw new ResponseError(
			"The metadata has no URL for sign-in requests with the binding HTTP-Redirect.",
		);
	return url ?? "";
}

/**
 * Reads the metadata of a provider (saml-metadata 2.3.2 and 2.4.3). Its signature isn't verified: it
 * is as trustworthy as where it comes from.
 * @returns the fields of the domain
 * @throws ResponseError
 */
export async function readProvider(xml: string) {
	const root = await parse(xml, { mayHaveComments: true });
	const entities = allElements(root).filter((each) => isNamed(each, "md:EntityDescriptor"));
	if (entities.length === 0) throw new ResponseError("The XML isn't SAML metadata.");
	const providers = entities.flatMap((entity) =>
		children(entity, "md:IDPSSODescriptor")
			.filter((each) => each.getAttribute("protocolSupportEnumeration").split(/\s/).includes(SAML2))
			.map((descriptor) => ({ entity, descriptor })),
	);
	const [provider] = providers;
	if (!provider)
		throw new ResponseError(
			"The metadata is of a service, such as this one, and not of a SAML 2.0 provider.",
		);
	if (providers.length > 1)
		throw new ResponseError(`The metadata has ${providers.length} providers, instead of one.`);
	const saml_entity_id = provider.entity.getAttribute("entityID");
	if (!saml_entity_id) throw new ResponseError("The metadata has no entity ID.");
	return {
		saml_entity_id,
		saml_acs_url: signInUrlOf(provider.descriptor),
		saml_x509_cert: certificatesOf(provider.descriptor),
	};
}
