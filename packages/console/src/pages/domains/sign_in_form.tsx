import { useState } from "preact/hooks";
import type { Domain, UpdateDomainBody } from "tenantry-client";
import { Check, Form, Select, text } from "../../ui/form.tsx";
import { ENFORCEMENTS, enforcementOf } from "./enforcement.ts";
import { ProviderChoice, providerOf } from "./guide.tsx";
import { OpenId, Saml } from "./providers.tsx";
import { LABELS, useSaveDomain } from "./save.ts";

const TEXTS = [
	"oidc_issuer",
	"oidc_client_id",
	"saml_entity_id",
	"saml_acs_url",
	"saml_x509_cert",
] as const;

const LEVELS = [
	["1", "Member"],
	["8", "Admin"],
] as const;

/** Returns only the changed fields, so that saving doesn't overwrite others. */
function changesIn(before: Domain, fields: FormData) {
	const changes: UpdateDomainBody = {};
	if (fields.has("sso_enforcement")) {
		const enforcement = enforcementOf(text(fields, "sso_enforcement"));
		const isJit = fields.has("jit_provisioning_enabled");
		const level = text(fields, "jit_provisioning_level") === "8" ? 8 : 1;
		if (enforcement !== before.sso_enforcement) changes.sso_enforcement = enforcement;
		if (isJit !== before.jit_provisioning_enabled) changes.jit_provisioning_enabled = isJit;
		if (level !== before.jit_provisioning_level) changes.jit_provisioning_level = level;
	}
	for (const name of TEXTS) {
		const value = text(fields, name);
		if (value !== (before[name] ?? "")) changes[name] = value;
	}
	const metadata = text(fields, "saml_metadata");
	if (metadata) changes.saml_metadata = metadata;
	const secret = text(fields, "oidc_client_secret");
	if (secret) changes.oidc_client_secret = secret;
	// Without an issuer, the secret is of no use.
	else if (changes.oidc_issuer === "") changes.oidc_client_secret = "";
	const isStartedThere = fields.has("saml_idp_initiated");
	if (isStartedThere !== before.saml_idp_initiated) changes.saml_idp_initiated = isStartedThere;
	return changes;
}

/** The settings about people with addresses of a verified domain. */
const Rules = ({ domain }: { domain: Domain }) => (
	<>
		<Select
			name="sso_enforcement"
			label={LABELS.sso_enforcement}
			hint={`This applies to everyone with an email address at ${domain.domain}. Test the provider first: you can only require what works for you. Sessions that began in another way end, perhaps also yours.`}
			options={ENFORCEMENTS}
			defaultValue={domain.sso_enforcement}
		/>
		<Check
			name="jit_provisioning_enabled"
			label={LABELS.jit_provisioning_enabled}
			hint={`People with an email address at ${domain.domain} don't need an invite.`}
			defaultChecked={domain.jit_provisioning_enabled}
		/>
		<Select
			name="jit_provisioning_level"
			label={LABELS.jit_provisioning_level}
			options={LEVELS}
			defaultValue={String(domain.jit_provisioning_level)}
		/>
	</>
);

export function SignInForm({
	domain,
	reload,
}: {
	domain: Domain;
	reload: () => Promise<Domain | undefined>;
}) {
	/**
	 * The domain when the form was opened. Renaming and verifying load it again, and others may have
	 * changed it.
	 */
	const [before, setBefore] = useState(domain);
	const { save, dialog, version } = useSaveDomain(domain.id, async () => {
		const read = await reload();
		if (read) setBefore(read);
	});
	const [provider, setProvider] = useState<string>(providerOf(domain));
	/** How often metadata was saved, after which the form shows what it filled in. */
	const [filled, setFilled] = useState(0);
	return (
		<>
			<Form
				key={`${version} ${filled}`}
				action="Save sign-in settings"
				showsSaved
				isSecondary={!domain.is_verified}
				onSubmit={async (fields) => {
					const changes = changesIn(before, fields);
					const isSaved = await save(before, changes, "The sign-in settings are saved.");
					if (isSaved && changes.saml_metadata) setFilled((filled) => filled + 1);
					return isSaved;
				}}
			>
				<ProviderChoice provider={provider} onChange={setProvider} />
				<OpenId domain={before} provider={provider} />
				<Saml domain={before} provider={provider} />
				{domain.is_verified ? (
					<Rules domain={before} />
				) : (
					<p class="quiet">
						After the domain is verified, you can choose how people sign in, and whether they can
						join without an invite. You can prepare a provider now.
					</p>
				)}
			</Form>
			{dialog}
		</>
	);
}
