/** Metadata of SAML providers. */

export const PROVIDER = {
	saml_entity_id: "https://idp.example.com/metadata",
	saml_acs_url: "https://idp.example.com/sso?tenant=7&x=1",
};

const base64 = (pem: string) => pem.trim().split("\n").slice(1, -1).join("\n      ");

export const key = (pem: string, use = ' use="signing"') =>
	`<md:KeyDescriptor${use}><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>
      ${base64(pem)}
    </ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`;

export const service = (binding: string, location = PROVIDER.saml_acs_url) =>
	`<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${location.replaceAll("&", "&amp;")}"/>`;

export const descriptor = (inside: string, more = "") =>
	`<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" ${more}>${inside}</md:IDPSSODescriptor>`;

export const entity = (inside: string, id = PROVIDER.saml_entity_id) =>
	`<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${id}">${inside}</md:EntityDescriptor>`;

export const SERVICES =
	service("HTTP-POST", "https://idp.example.com/post") + service("HTTP-Redirect");
