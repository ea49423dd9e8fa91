import type { Domain, Received, UpdateDomainBody } from "tenantry-client";
import { say } from "../../ui/feedback.tsx";
import { Area, Check, Field, Form, Group, Select, text } from "../../ui/form.tsx";
import { ENFORCEMENTS, enforcementOf } from "./enforcement.ts";

type Row = Received<Domain, "domains">;

const SAML_FIELDS = ["saml_entity_id", "saml_acs_url", "saml_x509_cert"] as const;

/** Returns only the changed fields, so that saving doesn't overwrite others. */
function changesIn(domain: Row, fields: FormData) {
	const changes: UpdateDomainBody = {};
	if (domain.is_verified) {
		const enforcement = enforcementOf(text(fields, "sso_enforcement"));
		const isJit = fields.has("jit_provisioning_enabled");
		if (enforcement !== domain.sso_enforcement) changes.sso_enforcement = enforcement;
		if (isJit !== domain.jit_provisioning_enabled) changes.jit_provisioning_enabled = isJit;
	}
	for (const name of SAML_FIELDS) {
		const value = text(fields, name);
		if (value !== (domain[name] ?? "")) changes[name] = value;
	}
	return changes;
}

/** The form for the sign-in settings of a domain. */
export function SignInForm({
	domain,
	save,
}: {
	domain: Row;
	save: (domain: Row, changes: UpdateDomainBody) => Promise<boolean>;
}) {
	return (
		<Form
			action="Save sign-in settings"
			showsSaved
			isSecondary={!domain.is_verified}
			onSubmit={async (fields) => {
				const isSaved = await save(domain, changesIn(domain, fields));
				if (isSaved) say("The sign-in settings are saved.");
				return isSaved;
			}}
		>
			{domain.is_verified ? (
				<>
					<Select
						name="sso_enforcement"
						label="People sign in with"
						hint={`This applies to everyone with an email address at ${domain.domain}.`}
						options={ENFORCEMENTS}
						defaultValue={domain.sso_enforcement}
					/>
					<Check
						name="jit_provisioning_enabled"
						label="New people join when they first sign in"
						hint={`People with an email address at ${domain.domain} don't need an invite.`}
						defaultChecked={domain.jit_provisioning_enabled}
					/>
				</>
			) : (
				<p class="quiet">
					After the domain is verified, you can choose how people sign in, and whether they can join
					without an invite. You can prepare SAML now.
				</p>
			)}
			<Group label="SAML" hint="From your identity provider. SAML requires all three fields.">
				<Field
					name="saml_entity_id"
					label="Entity ID"
					defaultValue={domain.saml_entity_id ?? ""}
					spellcheck={false}
				/>
				<Field
					name="saml_acs_url"
					label="ACS URL"
					defaultValue={domain.saml_acs_url ?? ""}
					spellcheck={false}
				/>
				<Area
					name="saml_x509_cert"
					label="Certificate"
					hint="X.509 in PEM format, with the BEGIN and END lines."
					defaultValue={domain.saml_x509_cert ?? ""}
					spellcheck={false}
				/>
			</Group>
		</Form>
	);
}
