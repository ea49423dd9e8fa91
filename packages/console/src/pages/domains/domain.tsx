import { useState } from "preact/hooks";
import { useRoute } from "preact-iso/router";
import type { Domain as DomainType } from "tenantry-client";
import { useLoad, useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Show, say } from "../../ui/feedback.tsx";
import { Field, FormDialog, text } from "../../ui/form.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { Badge, Facts, Time } from "../../ui/values.tsx";
import { enforcementName } from "./enforcement.ts";
import { LABELS, useSaveDomain } from "./save.ts";
import { SignInForm } from "./sign_in_form.tsx";
import { DnsRecord, Verification } from "./verification.tsx";

/** The page of a domain, with its verification and sign-in settings (docs/organizations.md#domains). */
export default function Domain() {
	const { organization, isAdmin, to } = useOrganization();
	const navigate = useNavigate();
	const { domain: id = "" } = useRoute().params;
	const [isRenaming, setRenaming] = useState(false);
	const at = { organization: organization.id, id };
	const loaded = useLoad((signal) => api.domains.get(at, { signal }), [organization.id, id]);
	const rename = useSaveDomain(at, async () => {
		await loaded.reload();
		setRenaming(false);
	});
	const domain = loaded.data;
	const above = [[to("domains"), "Domains"]] as const;
	if (!domain)
		return (
			<PageView title="Domain" above={above}>
				<Show of={loaded}>{() => null}</Show>
			</PageView>
		);

	async function remove({ domain, ...rest }: DomainType) {
		const isSure = await confirm({
			title: `Delete ${domain}?`,
			text: rest.is_verified
				? "Its sign-in settings stop applying immediately, and any organization can claim it. To add it again, you have to verify it again."
				: "Any organization can then claim it. You can remove its TXT record.",
			action: "Delete domain",
			...(rest.is_verified && { typed: domain }),
		});
		if (!isSure) return;
		await api.domains.delete(at);
		say(`${domain} is deleted.`);
		navigate(to("domains"));
	}

	return (
		<PageView
			title={domain.domain}
			above={above}
			state={
				domain.is_verified ? (
					<Badge mood="good">Verified</Badge>
				) : (
					<Badge mood="warn">Not verified</Badge>
				)
			}
			actions={
				<>
					{isAdmin && !domain.is_verified && (
						<button type="button" class="secondary outline" onClick={() => setRenaming(true)}>
							Rename
						</button>
					)}
					{isAdmin && (
						<Button class="danger" onPress={() => remove(domain)}>
							Delete
						</Button>
					)}
				</>
			}
		>
			{domain.is_verified ? (
				<Section title="Verification">
					<p>
						Verified on <Time value={domain.verified_at} />. Keep the TXT record in the DNS. It is
						checked once a day, and admins get a mail if it is missing.
					</p>
					<details>
						<summary>Show record</summary>
						<DnsRecord domain={domain} />
					</details>
				</Section>
			) : (
				<Verification key={domain.domain} domain={domain} onVerified={loaded.reload} />
			)}
			<Section title="Sign-in">
				{isAdmin ? (
					<SignInForm at={at} domain={domain} reload={loaded.reload} />
				) : (
					<Facts
						rows={[
							[LABELS.sso_enforcement, enforcementName(domain.sso_enforcement)],
							[
								"New people join",
								domain.jit_provisioning_enabled ? "When they first sign in" : "By invite",
							],
							["SAML", domain.has_saml ? "Set up" : "Not set up"],
						]}
					/>
				)}
			</Section>
			{isRenaming && (
				<FormDialog
					title={`Rename ${domain.domain}`}
					action="Rename domain"
					onClose={() => setRenaming(false)}
					onSubmit={async (fields) => {
						const changes = { domain: text(fields, "domain") };
						const isSaved = await rename.save(domain, changes);
						if (isSaved) say(`The domain is now ${changes.domain}.`);
						return isSaved;
					}}
				>
					<Field
						name="domain"
						label="Domain"
						defaultValue={domain.domain}
						required
						spellcheck={false}
						hint="The new name has its own TXT record. You can remove the old one."
					/>
				</FormDialog>
			)}
			{rename.dialog}
		</PageView>
	);
}
