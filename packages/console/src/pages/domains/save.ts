import type { Domain, UpdateDomainBody } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { useSave } from "../../ui/conflict.tsx";

/** The names of the fields, for people. */
export const LABELS = {
	domain: "Domain",
	jit_provisioning_enabled: "New people join when they first sign in",
	jit_provisioning_level: "Level of new people",
	sso_enforcement: "People sign in with",
	saml_metadata: "Metadata of the provider",
	saml_entity_id: "Entity ID of the provider",
	saml_acs_url: "Sign-in URL of the provider",
	saml_x509_cert: "Certificate of the provider",
	saml_idp_initiated: "People can start at the provider",
	oidc_issuer: "Issuer",
	oidc_client_id: "Client ID",
	oidc_client_secret: "Client secret",
	break_glass: "Members who can sign in without the provider",
};

export function useSaveDomain(id: string, onSaved: () => Promise<unknown>) {
	const { at } = useOrganization();
	return useSave<Domain, UpdateDomainBody>({
		read: () => api.domains.get({ ...at, id }),
		update: (domain, changes) => api.domains.update({ ...at, ...domain }, changes),
		onSaved,
		labels: LABELS,
		// Metadata isn't stored, but others may have changed what it fills in.
		fields: ({ saml_entity_id, saml_acs_url, saml_x509_cert, ...domain }) => ({
			...{ ...domain, saml_entity_id, saml_acs_url, saml_x509_cert },
			saml_metadata: [saml_entity_id, saml_acs_url, saml_x509_cert].filter(Boolean).join("\n"),
		}),
	});
}
