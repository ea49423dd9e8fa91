import { useState } from "preact/hooks";
import type { Domain, UpdateDomainBody } from "tenantry-client";
import { Area, Check, Field, Form, Group, Select, text } from "../../ui/form.tsx";
import { ENFORCEMENTS, enforcementOf } from "./enforcement.ts";
import { LABELS, useSaveDomain } from "./save.ts";

const SAML_FIELDS = ["saml_entity_id", "saml_acs_url", "saml_x509_cert"] as const;

/** Returns only the changed fields, so that saving doesn't overwrite others. */
function changesIn(before: Domain, fields: FormData) {
	const changes: UpdateDomainBody = {};
	if (fields.has("sso_enforcement")) {
		const enforcement = enforcementOf(text(fields, "sso_enforcement"));
		const isJit = fields.has("jit_provisioning_enabled");
		if (enforcement !== before.sso_enforcement) changes.sso_enforcement = enforcement;
		if (isJit !== before.jit_provisioning_enabled) changes.jit_provisioning_enabled = isJit;
	}
	for (const name of SAML_FIELDS) {
		const value = text(fields, name);
		if (value !== (before[name] ?? "")) changes[name] = value;
	}
	return changes;
}

const Saml = ({ domain }: { domain: Domain }) => (
	<Group label="SAML" hint="From your identity provider. SAML requires all three fields.">
		<Field
			name="saml_entity_id"
			label={LABELS.saml_entity_id}
			defaultValue={domain.saml_entity_id ?? ""}
			spellcheck={false}
		/>
		<Field
			name="saml_acs_url"
			label={LABELS.saml_acs_url}
			defaultValue={domain.saml_acs_url ?? ""}
			spellcheck={false}
		/>
		<Area
			name="saml_x509_cert"
			label={LABELS.saml_x509_cert}
			hint="X.509 in PEM format, with the BEGIN and END lines."
			defaultValue={domain.saml_x509_cert ?? ""}
			spellcheck={false}
		/>
	</Group>
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
	return (
		<>
			<Form
				key={version}
				action="Save sign-in settings"
				showsSaved
				isSecondary={!domain.is_verified}
				onSubmit={async (fields) => {
					return save(before, changesIn(before, fields), "The sign-in settings are saved.");
				}}
			>
				{domain.is_verified ? (
					<>
						<Select
							name="sso_enforcement"
							label={LABELS.sso_enforcement}
							hint={`This applies to everyone with an email address at ${domain.domain}.`}
							options={ENFORCEMENTS}
							defaultValue={before.sso_enforcement}
						/>
						<Check
							name="jit_provisioning_enabled"
							label={LABELS.jit_provisioning_enabled}
							hint={`People with an email address at ${domain.domain} don't need an invite.`}
							defaultChecked={before.jit_provisioning_enabled}
						/>
					</>
				) : (
					<p class="quiet">
						After the domain is verified, you can choose how people sign in, and whether they can
						join without an invite. You can prepare SAML now.
					</p>
				)}
				<Saml domain={before} />
			</Form>
			{dialog}
		</>
	);
}
