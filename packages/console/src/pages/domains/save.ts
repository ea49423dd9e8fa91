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
	saml_entity_id: "Entity ID",
	saml_acs_url: "ACS URL",
	saml_x509_cert: "Certificate",
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
	});
}
