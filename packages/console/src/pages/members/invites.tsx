import { useState } from "preact/hooks";
import type { CreateInviteBody, Invite } from "tenantry-client";
import { useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api, me } from "../../session.ts";
import { PlainButton, SmallButton } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Empty, forEachRow, say } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { RowMenu } from "../../ui/row_menu.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, LEVELS, levelName, nameOf, Snippet, Time } from "../../ui/values.tsx";
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

/** A link of a new invite. It has no `url` if the session can't see links. */
type Link = { email: string; url?: string };

const addressOf = ({ target_email }: Invite) => target_email;

const wordsFor = (invites: Invite[]) =>
	invites.length === 1 ? invites.map(addressOf).join() : `${invites.length} people`;

/** The actions for invites, and the link that one of them has created. */
function useActions(reload: () => void) {
	const { at } = useOrganization();
	const [link, setLink] = useState<Link>();
	async function renew(invite: Invite, send_email: boolean) {
		const renewed = await api.invites.create(at, again(invite, send_email));
		const { target_email, accept_url } = renewed;
		if (accept_url) setLink({ email: target_email, url: accept_url });
		return renewed;
	}
	return {
		link,
		closeLink: () => setLink(undefined),
		async revoke(invites: Invite[]) {
			const who = wordsFor(invites);
			const isOne = invites.length === 1;
			const isSure = await confirm({
				title: isOne ? `Revoke the invite for ${who}?` : `Revoke the invites for ${who}?`,
				text: isOne
					? "Its link stops working. You can invite this person again."
					: `Their links stop working. You can invite these people again: ${invites.map(addressOf).join(", ")}.`,
				action: isOne ? "Revoke invite" : "Revoke invites",
			});
			if (!isSure) return;
			const revoking = forEachRow(invites, addressOf, (invite) =>
				api.invites.delete({ ...at, ...invite }),
			);
			await revoking.finally(reload);
			say(isOne ? `The invite for ${who} is revoked.` : `The invites for ${who} are revoked.`);
		},
		async resend(invites: Invite[]) {
			let isMailed = true;
			const sending = forEachRow(invites, addressOf, async (invite) => {
				// Without mail, the others keep their links.
				if (isMailed) isMailed = (await renew(invite, true)).emailing_attempt_made;
			});
			await sending.finally(reload);
			const old = invites.length === 1 ? "The link in the old mail" : "The links in the old mails";
			say(
				isMailed
					? `A new mail was sent to ${wordsFor(invites)}. ${old} no longer work${invites.length === 1 ? "s" : ""}.`
					: "No mail was sent, because mail isn't set up for this service.",
			);
		},
		async renewLink(invite: Invite) {
			// Check this first, because a new link invalidates the old one.
			if (await canSeeLinks()) {
				await renew(invite, false);
				reload();
			} else setLink({ email: invite.target_email });
		},
	};
}

/** Returns what the user may do with invites. */
function useRights() {
	const { organization, isAdmin } = useOrganization();
	const mayRevoke = ({ created_by }: Invite) => isAdmin || created_by.uuid === me.value?.uuid;
	return {
		mayRevoke,
		mayRenew: (invite: Invite) =>
			mayRevoke(invite) && invite.level <= organization.membership_level,
	};
}

function Actions({ invite, actions }: { invite: Invite; actions: ReturnType<typeof useActions> }) {
	const rights = useRights();
	const [mayRevoke, mayRenew] = [rights.mayRevoke(invite), rights.mayRenew(invite)];
	const button = (words: string, work: () => Promise<void>) => (
		<PlainButton aria-label={`${words} for ${invite.target_email}`} onPress={work}>
			{words}
		</PlainButton>
	);
	return mayRevoke ? (
		<RowMenu of={invite.target_email}>
			{mayRenew && button("Send again", () => actions.resend([invite]))}
			{mayRenew && button("New link", () => actions.renewLink(invite))}
			{button("Revoke", () => actions.revoke([invite]))}
		</RowMenu>
	) : null;
}

function State({ invite }: { invite: Invite }) {
	const { is_expired, emailing_attempt_made } = invite;
	return (
		<>
			{is_expired ? <Badge mood="bad">Expired</Badge> : <Badge mood="good">Open</Badge>}
			<small class="below">
				{!is_expired && (
					<>
						expires <Time value={endOf(invite)} isRelative />
					</>
				)}
				{!emailing_attempt_made && (is_expired ? "no mail sent" : ", no mail sent")}
			</small>
		</>
	);
}

function Level({ invite: { level, private_project_access: access } }: { invite: Invite }) {
	const { organization } = useOrganization();
	const projectName = (id: number) =>
		organization.teams.find((team) => team.id === id)?.name ?? `Project ${id}`;
	return (
		<>
			<Badge>{levelName(level)}</Badge>
			{access.length > 0 && (
				<small class="below">with {access.map(({ id }) => projectName(id)).join(", ")}</small>
			)}
		</>
	);
}

const columnsOf = (actions: ReturnType<typeof useActions>): Column<Invite>[] => [
	{
		title: "Invited",
		value: addressOf,
		cell: ({ target_email, first_name }) => (
			<>
				<strong>{target_email}</strong>
				{first_name && <small class="below">{first_name}</small>}
			</>
		),
	},
	{
		title: "Level",
		value: ({ level }) => levelName(level),
		cell: (invite) => <Level invite={invite} />,
	},
	{
		title: "Invited by",
		value: ({ created_by }) => nameOf(created_by),
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
		value: ({ is_expired }) => (is_expired ? "Expired" : "Open"),
		cell: (invite) => <State invite={invite} />,
	},
	buttons((invite) => <Actions invite={invite} actions={actions} />),
];

const LinkDialog = ({ link: { email, url }, onClose }: { link: Link; onClose: () => void }) => (
	<Dialog title={`Link for ${email}`} onClose={onClose}>
		{url ? (
			<>
				<p>
					Send this link yourself. It works once, expires after three days, and won't be shown
					again. Older links for this address no longer work.
				</p>
				<Snippet value={url} label="Copy link" />
			</>
		) : (
			<p>
				Your session can't see links, because a new user gets a key with all scopes through them.
				Send the invite by mail, or sign in by mail or with a key that has all scopes, no
				restrictions and no expiry date.
			</p>
		)}
		<div class="buttons">
			<button type="button" onClick={onClose}>
				{url ? "I have copied it" : "Close"}
			</button>
		</div>
	</Dialog>
);

/** The open invites of an organization (docs/organizations.md#invites). */
export default function Invites() {
	const { at, to } = useOrganization();
	const [{ search, level, state }] = useQuery();
	const actions = useActions(() => list.reload());
	const columns = columnsOf(actions);
	const list = useSorted(
		(range, options) => api.invites.list({ ...at, ...range, search }, options),
		[at.organization, search, level, state],
		{
			columns,
			name: "invites",
			matches:
				level || state
					? (invite) =>
							(!level || String(invite.level) === level) &&
							(!state || invite.is_expired === (state === "expired"))
					: undefined,
		},
	);
	const { mayRevoke, mayRenew } = useRights();
	return (
		<People current="members/invites">
			<Filters>
				<Search label="Search invites" />
				<Filter name="level" label="Level" options={[["", "All levels"], ...LEVELS]} />
				<Filter
					name="state"
					label="State"
					options={[
						["", "Open or expired"],
						["open", "Open"],
						["expired", "Expired"],
					]}
				/>
			</Filters>
			<Table
				list={list}
				label="Invites"
				columns={columns}
				choosing={{
					nameOf: addressOf,
					mayChoose: mayRevoke,
					actions: (invites) => (
						<>
							<SmallButton isOff={!invites.every(mayRenew)} onPress={() => actions.resend(invites)}>
								Send again
							</SmallButton>
							<SmallButton onPress={() => actions.revoke(invites)}>Revoke</SmallButton>
						</>
					),
				}}
				notFound={(search || level || state) && "No invite matches the search and the filters."}
				empty={
					<Empty title="No open invites">
						Invites stay here until they are accepted.{" "}
						<a href={to("members/invite")}>Invite people</a> by email address.
					</Empty>
				}
			/>
			{actions.link && <LinkDialog link={actions.link} onClose={actions.closeLink} />}
		</People>
	);
}
