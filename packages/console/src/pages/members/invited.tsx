import type { NewInvite } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { LinkButton, SecondaryButton } from "../../ui/button.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { Copy } from "../../ui/values.tsx";
import type { Outcome } from "./send.ts";

type Correcting = {
	/** Opens the form again with these people. */
	onCorrect: (emails: readonly string[]) => void;
};

function Sent({
	invite: { target_email, emailing_attempt_made, accept_url },
}: {
	invite: NewInvite;
}) {
	return (
		<li>
			<span>
				<strong>{target_email}</strong>
				<small class="below">
					{emailing_attempt_made
						? "A mail was sent."
						: accept_url
							? "No mail was sent. Copy the link and send it yourself."
							: "No mail was sent, and the key of this session can't see the link. To get it, sign in by mail, or with a key that has all scopes, no restrictions and no expiry date. Or send a mail from the list of invites."}
				</small>
			</span>
			{accept_url && <Copy value={accept_url} label="Copy link" what={`for ${target_email}`} />}
		</li>
	);
}

function Rejected({ rejected, onCorrect }: Pick<Outcome, "rejected"> & Correcting) {
	return (
		<Section
			title="Not invited"
			actions={
				<SecondaryButton onPress={() => onCorrect(rejected.map(({ body }) => body.target_email))}>
					Correct these
				</SecondaryButton>
			}
		>
			<ul class="outcomes">
				{rejected.map(({ body: { target_email }, reason }) => (
					<li key={target_email}>
						<span>
							<strong>{target_email}</strong>
							<small class="below rejection">{reason}</small>
						</span>
					</li>
				))}
			</ul>
		</Section>
	);
}

export function Invited({
	outcome: { invited, rejected },
	onCorrect,
}: Correcting & { outcome: Outcome }) {
	const { to } = useOrganization();
	const links = invited.flatMap(({ target_email, accept_url }) =>
		accept_url ? [`${target_email} ${accept_url}`] : [],
	);
	return (
		<PageView
			title={`${invited.length} of ${invited.length + rejected.length} invited`}
			above={[[to("members"), "Members"]]}
			actions={
				<>
					<SecondaryButton onPress={() => onCorrect([])}>Invite more people</SecondaryButton>
					<LinkButton href={to("members/invites")}>View open invites</LinkButton>
				</>
			}
		>
			{rejected.length > 0 && <Rejected rejected={rejected} onCorrect={onCorrect} />}
			{invited.length > 0 && (
				<Section
					title="Invited"
					actions={links.length > 1 && <Copy value={links.join("\n")} label="Copy all links" />}
				>
					<p>
						{links.length > 0 && "Links won't be shown again. "}
						Each link works once and expires after three days. Links of earlier invites to these
						addresses no longer work.
					</p>
					<ul class="outcomes">
						{invited.map((invite) => (
							<Sent key={invite.id} invite={invite} />
						))}
					</ul>
				</Section>
			)}
		</PageView>
	);
}
