import type { Domain, Received, UpdateDomainBody } from "tenantry-client";
import { say } from "../../ui/feedback.tsx";
import { Area, Check, Field, Form, Group, Select, text } from "../../ui/form.tsx";
import { ENFORCEMENTS, enforcementOf } from "./enforcement.ts";

type Row = Received<Domain, "domains">;

const SAML_FIELDS = ["saml_entity_id", "saml_acs_url", "saml_x509_cert"] as const;

/** What the form changes: only that is sent, so that it overwrites nothing else. */
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

/** How people with addresses of a domain sign in. */
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
						hint={`It applies to everybody with an address at ${domain.domain}.`}
						options={ENFORCEMENTS}
						defaultValue={domain.sso_enforcement}
					/>
					<Check
						name="jit_provisioning_enabled"
						label="New people join when they first sign in"
						hint={`People with an address at ${domain.domain} then need no invite.`}
						defaultChecked={domain.jit_provisioning_enabled}
					/>
				</>
			) : (
				<p class="quiet">
					Once the domain is verified, you can choose here how people have to sign in, and whether
					they join without an invite. SAML can be prepared now.
				</p>
			)}
			<Group
				label="SAML"
				hint="From your identity provider. All three are needed to sign in with SAML."
			>
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
					hint="X.509, with its BEGIN and END lines."
					defaultValue={domain.saml_x509_cert ?? ""}
					spellcheck={false}
				/>
			</Group>
		</Form>
	);
}
