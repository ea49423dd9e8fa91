import { useState } from "preact/hooks";
import type { CreateInviteBody, Invite } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api, me } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, levelName, nameOf, Snippet, Time } from "../../ui/values.tsx";
import { People } from "./parts.tsx";

/** The lifetime of an invite (docs/organizations.md#invites). */
const LIFETIME_MS = 3 * 86_400_000;

const endOf = ({ created_at }: Invite) =>
	new Date(Date.parse(created_at) + LIFETIME_MS).toISOString();

/** Returns the body of a new invite for the same address, which replaces the invite. */
const again = (invite: Invite, send_email: boolean): CreateInviteBody => ({
	target_email: invite.target_email,
	first_name: invite.first_name,
	level: invite.level,
	message: invite.message,
	private_project_access: invite.private_project_access,
	send_email,
});

/** Whether the API returns links of invites to the key of this session. */
async function canSeeLinks() {
	const { scopes, expires_at, scoped_organizations, scoped_projects, allowed_ips } =
		await api.personalApiKeys.get({ id: "@current" });
	const isLimited = [scoped_organizations, scoped_projects, allowed_ips].some(
		(list) => list.length > 0,
	);
	return scopes.includes("*") && expires_at === null && !isLimited;
}

/** The open invites of an organization (docs/organizations.md#invites). */
export default function Invites() {
	const { organization, at, isAdmin, to } = useOrganization();
	const [link, setLink] = useState<{ email: string; url?: string }>();
	const [{ search }] = useQuery();
	const list = useList(
		(page, signal) => api.invites.list({ ...at, ...page, search }, { signal }),
		[at.organization, search],
	);
	const mayRevoke = ({ created_by }: Invite) => isAdmin || created_by.uuid === me.value?.uuid;
	const mayRenew = (invite: Invite) =>
		mayRevoke(invite) && invite.level <= organization.membership_level;
	const projectName = (id: number) =>
		organization.teams.find((team) => team.id === id)?.name ?? `Project ${id}`;

	async function revoke(invite: Invite) {
		const isSure = await confirm({
			title: `Revoke the invite for ${invite.target_email}?`,
			text: "Its link stops working. You can invite this person again.",
			action: "Revoke invite",
		});
		if (!isSure) return;
		await api.invites.delete({ ...at, ...invite });
		say(`The invite for ${invite.target_email} is revoked.`);
		list.reload();
	}
	async function resend(invite: Invite) {
		const { target_email, emailing_attempt_made, accept_url } = await api.invites.create(
			at,
			again(invite, true),
		);
		if (accept_url) setLink({ email: target_email, url: accept_url });
		say(
			emailing_attempt_made
				? `A new mail was sent to ${target_email}. The link in the old mail no longer works.`
				: "No mail was sent, because mail isn't set up for this service.",
		);
		list.reload();
	}
	async function renewLink(invite: Invite) {
		// Check this first, because a new link invalidates the old one.
		if (!(await canSeeLinks())) {
			setLink({ email: invite.target_email });
			return;
		}
		const { target_email, accept_url } = await api.invites.create(at, again(invite, false));
		if (accept_url) setLink({ email: target_email, url: accept_url });
		list.reload();
	}

	const columns: Column<Invite>[] = [
		{
			title: "Invited",
			cell: ({ target_email, first_name }) => (
				<>
					<strong>{target_email}</strong>
					{first_name && <small class="below">{first_name}</small>}
				</>
			),
		},
		{
			title: "Level",
			cell: ({ level, private_project_access: access }) => (
				<>
					<Badge>{levelName(level)}</Badge>
					{access.length > 0 && (
						<small class="below">
							{`with ${access.map(({ id }) => projectName(id)).join(", ")}`}
						</small>
					)}
				</>
			),
		},
		{
			title: "Invited by",
			cell: ({ created_by, created_at }) => (
				<>
					{nameOf(created_by)}
					<small class="below">
						<Time value={created_at} isRelative />
					</small>
				</>
			),
		},
		{
			title: "State",
			cell: (invite) => (
				<>
					{invite.is_expired ? <Badge mood="bad">Expired</Badge> : <Badge mood="good">Open</Badge>}
					<small class="below">
						{!invite.is_expired && (
							<>
								expires <Time value={endOf(invite)} isRelative />
							</>
						)}
						{!invite.emailing_attempt_made &&
							(invite.is_expired ? "no mail sent" : ", no mail sent")}
					</small>
				</>
			),
		},
		buttons((invite) => {
			const button = (words: string, work: (invite: Invite) => Promise<void>) => (
				<Button
					class="secondary outline small"
					aria-label={`${words} for ${invite.target_email}`}
					onPress={() => work(invite)}
				>
					{words}
				</Button>
			);
			return (
				<span class="row-actions">
					{mayRenew(invite) && button("Send again", resend)}
					{mayRenew(invite) && button("New link", renewLink)}
					{mayRevoke(invite) && button("Revoke", revoke)}
				</span>
			);
		}),
	];

	return (
		<People current="members/invites">
			<Filters>
				<Search label="Search invites" />
			</Filters>
			<Table
				list={list}
				label="Invites"
				columns={columns}
				id={({ id }) => id}
				notFound={search && `No invite has “${search}” in its email address.`}
				empty={
					<Empty title="No open invites">
						Invites stay here until they are accepted.{" "}
						<a href={to("members/invite")}>Invite people</a> by email address.
					</Empty>
				}
			/>
			{link && (
				<Dialog title={`Link for ${link.email}`} onClose={() => setLink(undefined)}>
					{link.url ? (
						<>
							<p>
								Send this link yourself. It works once, expires after three days, and won't be shown
								again. Older links for this address no longer work.
							</p>
							<Snippet value={link.url} label="Copy link" />
						</>
					) : (
						<p>
							Your session can't see links, because a new user gets a key with all scopes through
							them. Send the invite by mail, or sign in by mail or with a key that has all scopes,
							no restrictions and no expiry date.
						</p>
					)}
					<div class="buttons">
						<button type="button" onClick={() => setLink(undefined)}>
							{link.url ? "I have copied it" : "Close"}
						</button>
					</div>
				</Dialog>
			)}
		</People>
	);
}
