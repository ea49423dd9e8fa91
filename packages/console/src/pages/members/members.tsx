import { useState } from "preact/hooks";
import type { Member } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useLeave, useOrganization } from "../../organization.tsx";
import { api, me } from "../../session.ts";
import { PlainButton, SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { forEachRow, say } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { FormDialog, text } from "../../ui/form.tsx";
import { RowMenu } from "../../ui/row_menu.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, LEVELS, levelName, nameOf, Person, Time } from "../../ui/values.tsx";
import { LevelChoice, levelIn, People } from "./parts.tsx";
import { ResetFactor } from "./reset_factor.tsx";
import { SignInAccounts } from "./sign_in_accounts.tsx";

const isMe = ({ user }: Member) => user.uuid === me.value?.uuid;

function TwoFactor({ member }: { member: Member }) {
	const { organization } = useOrganization();
	if (member.is_2fa_enabled) return <Badge mood="good">On</Badge>;
	return organization.enforce_2fa ? <Badge mood="warn">Off</Badge> : <>Off</>;
}

const personOf = ({ user }: Member) => nameOf(user);

/** The consequences of a removal, for a person or several. */
const REMOVAL =
	"immediately loses access to the organization and all its projects. Their API keys no longer work in it, and invites that they sent stop working.";

type Changes = {
	onChange: (members: Member[]) => void;
	onAccounts: (member: Member) => void;
	onReset: (member: Member) => void;
	reload: () => void;
};

/** Returns what the user may do with members, and the removal of some. */
function useRights(reload: () => void) {
	const { organization, at, isAdmin, isOwner } = useOrganization();
	const mayChange = (member: Member) =>
		isAdmin && !isMe(member) && member.level <= organization.membership_level;
	return {
		mayChange,
		mayReset: (member: Member) =>
			member.is_2fa_enabled &&
			mayChange(member) &&
			(isOwner || member.level < organization.membership_level),
		/** Another owner is removed after a change of their level. */
		mayRemove: (member: Member) => mayChange(member) && member.level < 15,
		async remove(members: Member[]) {
			const names = members.map(personOf).join(", ");
			const isSure = await confirm({
				title: members.length === 1 ? `Remove ${names}?` : `Remove ${members.length} members?`,
				text:
					members.length === 1
						? `This person ${REMOVAL}`
						: `Each of them ${REMOVAL} Chosen: ${names}.`,
				action: members.length === 1 ? "Remove member" : "Remove members",
			});
			if (!isSure) return;
			const removing = forEachRow(members, personOf, ({ user }) =>
				api.members.remove({ ...at, user: user.uuid }),
			);
			await removing.finally(reload);
			say(
				members.length === 1
					? `${names} is no longer a member.`
					: `${members.length} people are no longer members.`,
			);
		},
	};
}

function Actions({ member, onChange, onAccounts, onReset, reload }: Changes & { member: Member }) {
	const { mayChange, mayRemove, mayReset, remove } = useRights(reload);
	const leave = useLeave();
	const name = personOf(member);
	if (isMe(member) && member.level < 15) return <SmallButton onPress={leave}>Leave</SmallButton>;
	return mayChange(member) ? (
		<RowMenu of={name}>
			<PlainButton aria-label={`Change level of ${name}`} onPress={() => onChange([member])}>
				Change level
			</PlainButton>
			{member.has_social_auth && (
				<PlainButton aria-label={`Sign-in accounts of ${name}`} onPress={() => onAccounts(member)}>
					Sign-in accounts
				</PlainButton>
			)}
			{mayReset(member) && (
				<PlainButton aria-label={`Reset second factor of ${name}`} onPress={() => onReset(member)}>
					Reset second factor
				</PlainButton>
			)}
			{mayRemove(member) && (
				<PlainButton aria-label={`Remove ${name}`} onPress={() => remove([member])}>
					Remove
				</PlainButton>
			)}
		</RowMenu>
	) : null;
}

const columnsOf = (changes: Changes): Column<Member>[] => [
	{
		title: "Name",
		cell: (member) => <Person user={member.user}>{isMe(member) && <Badge>You</Badge>}</Person>,
	},
	{ title: "Level", cell: ({ level }) => <Badge>{levelName(level)}</Badge> },
	{ title: "Two-factor", cell: (member) => <TwoFactor member={member} /> },
	{ title: "Joined", cell: ({ joined_at }) => <Time value={joined_at} isRelative /> },
	buttons((member) => <Actions member={member} {...changes} />),
];

/** The members of an organization (docs/organizations.md#members). */
export default function Members() {
	const { at, isAdmin } = useOrganization();
	const [{ search, order, level, is_2fa_enabled }] = useQuery();
	const filters = {
		search,
		order,
		level: level ? levelIn(level) : undefined,
		is_2fa_enabled: is_2fa_enabled ? is_2fa_enabled === "true" : undefined,
	};
	const [changing, setChanging] = useState<Member[]>();
	const [shown, setShown] = useState<Member>();
	const [resetting, setResetting] = useState<Member>();
	const list = useList(
		(page, signal) => api.members.list({ ...at, ...page, ...filters }, { signal }),
		[at.organization, ...Object.values(filters)],
	);
	const { mayChange, mayRemove, remove } = useRights(list.reload);
	return (
		<People current="members">
			<Filters>
				<Search label="Search members" />
				<Filter name="level" label="Level" options={[["", "All levels"], ...LEVELS]} />
				<Filter
					name="is_2fa_enabled"
					label="Two-factor"
					options={[
						["", "With or without two-factor"],
						["true", "With two-factor"],
						["false", "Without two-factor"],
					]}
				/>
				<Filter
					name="order"
					label="Order"
					options={[
						["", "Newest first"],
						["joined_at", "Oldest first"],
					]}
				/>
			</Filters>
			<Table
				list={list}
				label="Members"
				columns={columnsOf({
					onChange: setChanging,
					onAccounts: setShown,
					onReset: setResetting,
					reload: list.reload,
				})}
				notFound="No member matches the search and the filters."
				choosing={
					isAdmin
						? {
								nameOf: personOf,
								mayChoose: mayChange,
								actions: (members) => (
									<>
										<SmallButton onPress={() => setChanging(members)}>Change level</SmallButton>
										<SmallButton isOff={!members.every(mayRemove)} onPress={() => remove(members)}>
											Remove
										</SmallButton>
									</>
								),
							}
						: undefined
				}
			/>
			{shown && (
				<SignInAccounts
					user={shown.user}
					onClose={() => {
						setShown(undefined);
						list.reload();
					}}
				/>
			)}
			{resetting && (
				<ResetFactor
					user={resetting.user}
					onClose={() => {
						setResetting(undefined);
						list.reload();
					}}
				/>
			)}
			{changing && (
				<ChangeLevel
					members={changing}
					onClose={() => {
						setChanging(undefined);
						list.reload();
					}}
				/>
			)}
		</People>
	);
}

/** Changes the level of members, unless somebody else has changed it since it was shown. */
function ChangeLevel({
	members,
	onClose,
}: {
	members: Member[];
	/** Called also after a part of the changes, so the list has to be loaded again. */
	onClose: () => void;
}) {
	const { at } = useOrganization();
	const [first] = members;
	/** The levels that the dialog has shown to the user. */
	const [known, setKnown] = useState(new Map(members.map(({ id, level }) => [id, level])));
	const who = members.length === 1 && first ? personOf(first) : `${members.length} members`;
	async function change({ id, user }: Member, level: ReturnType<typeof levelIn>) {
		if (level === known.get(id)) return;
		// Members come from a list, so they have no ETag.
		const current = (await api.members.list({ ...at, email: user.email })).results[0]?.level;
		if (current !== undefined && current !== known.get(id)) {
			setKnown((levels) => new Map(levels).set(id, current));
			throw new Error(
				`Someone else has changed the level of ${nameOf(user)} to ${levelName(current).toLowerCase()}. Choose again, or cancel.`,
			);
		}
		await api.members.update({ ...at, user: user.uuid }, { level });
		setKnown((levels) => new Map(levels).set(id, level));
	}
	return (
		<FormDialog
			title={`Change the level of ${who}`}
			action="Change level"
			onClose={onClose}
			onSubmit={async (fields) => {
				const level = levelIn(text(fields, "level"));
				await forEachRow(members, personOf, (member) => change(member, level));
				say(`The level of ${who} is now ${levelName(level).toLowerCase()}.`);
				onClose();
			}}
		>
			{members.length === 1 && first && first.level >= 15 && (
				<p>An owner can't be removed. To remove {who}, first choose another level.</p>
			)}
			<LevelChoice chosen={first?.level ?? 1} />
		</FormDialog>
	);
}
