import type { Domain } from "tenantry-client";
import { Area, Check, Field, Group } from "../../ui/form.tsx";
import { Facts, Snippet } from "../../ui/values.tsx";
import { Guide } from "./guide.tsx";
import { LABELS } from "./save.ts";

type OfProvider = { domain: Domain; provider: string };

/** The values that an admin copies into the settings of the provider. */
const Copied = ({ rows }: { rows: (readonly [name: string, words: string, path: string])[] }) => (
	<div class="record">
		<Facts
			rows={rows.map(([name, words, path]) => [
				words,
				<Snippet key={name} value={location.origin + path} label={`Copy ${name}`} />,
			])}
		/>
	</div>
);

/** The settings of the OpenID provider of a domain (docs/sign-on.md#openid-connect). */
export const OpenId = ({ domain, provider }: OfProvider) => (
	<Group
		label="OpenID Connect"
		hint="Create a web application at your provider, with this redirect URI. Then enter what the provider shows. ID tokens can't be encrypted."
	>
		<Copied rows={[["redirect URI", "Redirect URI", `/sso/oidc/${domain.id}/callback`]]} />
		<Guide provider={provider} protocol="OpenID Connect" />
		<Field
			name="oidc_issuer"
			label={LABELS.oidc_issuer}
			defaultValue={domain.oidc_issuer ?? ""}
			spellcheck={false}
			hint="A URL, exactly as the provider writes it. Without /.well-known/openid-configuration."
		/>
		<Field
			name="oidc_client_id"
			label={LABELS.oidc_client_id}
			defaultValue={domain.oidc_client_id ?? ""}
			spellcheck={false}
		/>
		<Field
			name="oidc_client_secret"
			label={LABELS.oidc_client_secret}
			type="password"
			autocomplete="new-password"
			hint={
				domain.oidc_client_secret
					? "One is stored. Leave this empty to keep it. Another issuer needs it again."
					: "It is stored encrypted, and never shown again."
			}
		/>
	</Group>
);

/** The settings of the SAML provider of a domain (docs/sign-on.md#saml). */
export const Saml = ({ domain, provider }: OfProvider) => (
	<Group
		label="SAML"
		hint="Create a SAML application at your provider, with these values of this service. Then enter those of the provider: its metadata, or the three fields below it. Requests aren't signed, assertions can't be encrypted, and there is no single logout: turn these off at the provider."
	>
		<Copied
			rows={[
				["metadata URL", "Metadata URL", `/sso/saml/${domain.id}/metadata`],
				["audience", "Audience (entity ID)", `/sso/saml/${domain.id}/metadata`],
				["reply URL", "Reply URL (ACS URL)", `/sso/saml/${domain.id}/acs`],
			]}
		/>
		<Guide provider={provider} protocol="SAML" />
		<Area
			name="saml_metadata"
			label={LABELS.saml_metadata}
			hint="Its URL, or the XML. Saving fills in the three fields."
			rows={2}
			spellcheck={false}
		/>
		<Field
			name="saml_entity_id"
			label={LABELS.saml_entity_id}
			hint="Also called issuer or identifier."
			defaultValue={domain.saml_entity_id ?? ""}
			spellcheck={false}
		/>
		<Field
			name="saml_acs_url"
			label={LABELS.saml_acs_url}
			hint="Where sign-ins start. Also called SSO URL or login URL, and saml_acs_url in the API."
			defaultValue={domain.saml_acs_url ?? ""}
			spellcheck={false}
		/>
		<Area
			name="saml_x509_cert"
			label={LABELS.saml_x509_cert}
			hint="PEM or base64. Enter two while the provider changes it."
			defaultValue={domain.saml_x509_cert ?? ""}
			spellcheck={false}
		/>
		<Check
			name="saml_idp_initiated"
			label={LABELS.saml_idp_initiated}
			hint="Only if you need it: someone can then be signed in to another person's account without noticing."
			defaultChecked={domain.saml_idp_initiated}
		/>
	</Group>
);
