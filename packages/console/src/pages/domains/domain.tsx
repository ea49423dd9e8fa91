import { useState } from "preact/hooks";
import { useRoute } from "preact-iso/router";
import type { Domain as DomainType } from "tenantry-client";
import { useLoad, useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button, SecondaryButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Field, FormDialog, text } from "../../ui/form.tsx";
import { LoadedPage, PageView, Section } from "../../ui/page.tsx";
import { Facts, Time } from "../../ui/values.tsx";
import { ObjectActivity, ObjectTabs } from "../events/object_activity.tsx";
import { WhoCanSee } from "../members/who_can_see.tsx";
import { BreakGlass } from "./break_glass.tsx";
import { enforcementName } from "./enforcement.ts";
import { Provisioning } from "./provisioning.tsx";
import { LABELS, useSaveDomain } from "./save.ts";
import { SignInForm } from "./sign_in_form.tsx";
import { Tests } from "./tests.tsx";
import { DnsRecord, Verification, VerifiedBadge } from "./verification.tsx";

function Verified({ domain }: { domain: DomainType }) {
	return (
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
	);
}

const SignInFacts = ({ domain }: { domain: DomainType }) => (
	<Facts
		rows={[
			[LABELS.sso_enforcement, enforcementName(domain.sso_enforcement)],
			[
				"New people join",
				domain.jit_provisioning_enabled ? "When they first sign in" : "By invite",
			],
			["OpenID Connect", domain.has_oidc ? "Set up" : "Not set up"],
			["SAML", domain.has_saml ? "Set up" : "Not set up"],
		]}
	/>
);

function Rename({ domain, reload }: { domain: DomainType; reload: () => Promise<unknown> }) {
	const [isOpen, setOpen] = useState(false);
	const { save, dialog } = useSaveDomain(domain.id, async () => {
		await reload();
		setOpen(false);
	});
	return (
		<>
			<SecondaryButton onPress={() => setOpen(true)}>Rename</SecondaryButton>
			{isOpen && (
				<FormDialog
					title={`Rename ${domain.domain}`}
					action="Rename domain"
					onClose={() => setOpen(false)}
					onSubmit={(fields) => {
						const changes = { domain: text(fields, "domain") };
						return save(domain, changes, `The domain is now ${changes.domain}.`);
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
			{dialog}
		</>
	);
}

function Delete({ domain: { id, domain, is_verified } }: { domain: DomainType }) {
	const { at, to } = useOrganization();
	const navigate = useNavigate();
	async function remove() {
		const isSure = await confirm({
			title: `Delete ${domain}?`,
			text: is_verified
				? "Its sign-in settings stop applying immediately, and any organization can claim it. To add it again, you have to verify it again."
				: "Any organization can then claim it. You can remove its TXT record.",
			action: "Delete domain",
			...(is_verified && { typed: domain }),
		});
		if (!isSure) return;
		await api.domains.delete({ ...at, id });
		say(`${domain} is deleted.`);
		navigate(to("domains"));
	}
	return (
		<Button class="danger" onPress={remove}>
			Delete
		</Button>
	);
}

function Settings({
	domain,
	reload,
}: {
	domain: DomainType;
	reload: () => Promise<DomainType | undefined>;
}) {
	const { isAdmin, isOwner } = useOrganization();
	return (
		<>
			{domain.is_verified ? (
				<Verified domain={domain} />
			) : (
				<Verification key={domain.domain} domain={domain} onVerified={reload} />
			)}
			<Section title="Sign-in">
				{isAdmin ? <SignInForm domain={domain} reload={reload} /> : <SignInFacts domain={domain} />}
			</Section>
			{isAdmin && domain.is_verified && <Tests domain={domain} />}
			{isAdmin && domain.is_verified && <Provisioning domain={domain} />}
			{isOwner && domain.is_verified && <BreakGlass domain={domain} reload={reload} />}
		</>
	);
}

/**
 * The page of a domain, with its verification and sign-in settings (docs/organizations.md#domains).
 */
export default function Domain() {
	const { at, isAdmin, to } = useOrganization();
	const { domain: id = "", tab = "" } = useRoute().params;
	const loaded = useLoad((signal) => api.domains.get({ ...at, id }, { signal }), [id]);
	const above = [[to("domains"), "Domains"]] as const;
	return (
		<LoadedPage of={loaded} title="Domain" above={above}>
			{(domain) => (
				<PageView
					title={domain.domain}
					above={above}
					state={
						<>
							<VerifiedBadge isVerified={domain.is_verified} />
							<WhoCanSee resource="domain" id={domain.id} />
						</>
					}
					actions={
						isAdmin && (
							<>
								{!domain.is_verified && <Rename domain={domain} reload={loaded.reload} />}
								<Delete domain={domain} />
							</>
						)
					}
				>
					<ObjectTabs label="About the domain" path={to(`domains/${id}`)} tab={tab} />
					{tab === "activity" ? (
						<ObjectActivity scope="Domain" id={id} />
					) : (
						<Settings domain={domain} reload={loaded.reload} />
					)}
				</PageView>
			)}
		</LoadedPage>
	);
}
