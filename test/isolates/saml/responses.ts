/** Responses of a SAML provider, each part of which a test can change. */
import { v7 } from "uuid";
import type { Signing } from "../../support/saml.ts";

export const ISSUER = "https://provider.test";
export const PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

export const after = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

/** The service's side of a connection, and the domain of the addresses. */
type Service = { entity_id: string; acs_url: string; domain: string };

export const audienceOf = (name: string) =>
	`<saml:AudienceRestriction><saml:Audience>${name}</saml:Audience></saml:AudienceRestriction>`;

/** The parts of a response that tests change. */
const partsOf = ({ entity_id, acs_url, domain }: Service, request: string) => ({
	id: `_${v7()}`,
	assertion_id: `_${v7()}`,
	issuer: ISSUER,
	response_issuer: ISSUER,
	destination: acs_url,
	in_response_to: request,
	confirmed_request: request,
	status: "urn:oasis:names:tc:SAML:2.0:status:Success",
	issued: after(0),
	not_before: after(-5),
	not_on_or_after: after(300),
	confirmed_until: after(300),
	recipient: acs_url,
	method: "urn:oasis:names:tc:SAML:2.0:cm:bearer",
	audience: audienceOf(entity_id),
	format: PERSISTENT,
	name_id: v7(),
	context: "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport",
	session_until: after(3600),
	email: `ada@${domain}`,
	attributes: "",
});

export type Parts = ReturnType<typeof partsOf>;

/** Returns an attribute of an element, or nothing if the value is empty. */
const part = (name: string, value: string) => (value === "" ? "" : ` ${name}="${value}"`);

/** Returns an attribute of the person. */
export const attribute = (name: string, value: string) =>
	`<saml:Attribute Name="${name}"><saml:AttributeValue>${value}</saml:AttributeValue></saml:Attribute>`;

/** Returns the XML of an assertion, which isn't signed. */
const assertionOf = (parts: Parts) =>
	[
		`<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" Version="2.0" ID="${parts.assertion_id}" IssueInstant="${parts.issued}">`,
		`<saml:Issuer>${parts.issuer}</saml:Issuer>`,
		`<saml:Subject><saml:NameID Format="${parts.format}">${parts.name_id}</saml:NameID>`,
		`<saml:SubjectConfirmation Method="${parts.method}"><saml:SubjectConfirmationData${part("Recipient", parts.recipient)}${part("NotOnOrAfter", parts.confirmed_until)}${part("InResponseTo", parts.confirmed_request)}/></saml:SubjectConfirmation></saml:Subject>`,
		`<saml:Conditions NotBefore="${parts.not_before}" NotOnOrAfter="${parts.not_on_or_after}">${parts.audience}</saml:Conditions>`,
		`<saml:AuthnStatement AuthnInstant="${parts.issued}" SessionNotOnOrAfter="${parts.session_until}"><saml:AuthnContext><saml:AuthnContextClassRef>${parts.context}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`,
		`<saml:AttributeStatement>${attribute("email", parts.email)}${parts.attributes}</saml:AttributeStatement></saml:Assertion>`,
	].join("");

/** Returns the XML of a response, which isn't signed. */
const responseOf = (parts: Parts) =>
	[
		`<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${parts.id}" Version="2.0" IssueInstant="${parts.issued}"${part("Destination", parts.destination)}${part("InResponseTo", parts.in_response_to)}>`,
		`<saml:Issuer>${parts.response_issuer}</saml:Issuer>`,
		`<samlp:Status><samlp:StatusCode Value="${parts.status}"/></samlp:Status>`,
		`${assertionOf(parts)}</samlp:Response>`,
	].join("");

export type Changes = {
	change?: Partial<Parts>;
	signing?: Partial<Signing>;
	/** Changes the response before and after it is signed. */
	before?: (xml: string) => string;
	after?: (xml: string) => string;
};

/** Returns the signed response to a request. */
export async function signedBy(
	sign: (signing: Signing) => string | Promise<string>,
	service: Service,
	request: string,
	{ change, signing, before = String, after = String }: Changes = {},
) {
	const xml = before(responseOf({ ...partsOf(service, request), ...change }));
	return after(await sign({ xml, by: "one", element: "Assertion", ...signing }));
}

/** The algorithms of signatures that are accepted, each with a digest of the same hash. */
export const ALGORITHMS = ["sha256", "sha384", "sha512"].flatMap((hash) => {
	const kind = hash === "sha384" ? "xmldsig-more" : "xmlenc";
	const digestAlgorithm = `http://www.w3.org/2001/04/${kind}#${hash}`;
	return [
		`http://www.w3.org/2001/04/xmldsig-more#rsa-${hash}`,
		`http://www.w3.org/2007/05/xmldsig-more#${hash}-rsa-MGF1`,
	].map((signatureAlgorithm) => ({ signatureAlgorithm, digestAlgorithm }));
});

/** The Base64 of a certificate. */
export const base64Of = (pem: string) => pem.replaceAll(/-----[^-]+-----/g, "").trim();

/** Somebody at samlp. */
export const ada = (email: string) => ({
	id: "ada-7",
	emails: [{ value: email }],
	displayName: "Ada Lovelace",
	name: { givenName: "Ada", familyName: "Lovelace" },
});
