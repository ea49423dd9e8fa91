import { useState } from "preact/hooks";
import type { Member } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useLeave, useOrganization } from "../../organization.tsx";
import { api, me } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { FormDialog, text } from "../../ui/form.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, LEVELS, levelName, nameOf, Person, Time } from "../../ui/values.tsx";
import { LevelChoice, levelIn, People } from "./parts.tsx";

const isMe = ({ user }: Member) => user.uuid === me.value?.uuid;

function TwoFactor({ member }: { member: Member }) {
	const { organization } = useOrganization();
	if (member.is_2fa_enabled) return <Badge mood="good">On</Badge>;
	return organization.enforce_2fa ? <Badge mood="warn">Off</Badge> : <>Off</>;
}

type Changes = { onChange: (member: Member) => void; reload: () => void };

function Actions({ member, onChange, reload }: Changes & { member: Member }) {
	const { organization, at, isAdmin } = useOrganization();
	const leave = useLeave();
	const name = nameOf(member.user);
	const mayChange = isAdmin && !isMe(member) && member.level <= organization.membership_level;
	async function remove() {
		const isSure = await confirm({
			title: `Remove ${name}?`,
			text: "This person immediately loses access to the organization and all its projects. Their API keys no longer work in it, and invites that they sent stop working.",
			action: "Remove member",
		});
		if (!isSure) return;
		await api.members.remove({ ...at, user: member.user.uuid });
		say(`${name} is no longer a member.`);
		reload();
	}
	return (
		<span class="row-actions">
			{mayChange && (
				<SmallButton aria-label={`Change level of ${name}`} onPress={() => onChange(member)}>
					Change level
				</SmallButton>
			)}
			{mayChange && member.level < 15 && (
				<SmallButton aria-label={`Remove ${name}`} onPress={remove}>
					Remove
				</SmallButton>
			)}
			{isMe(member) && member.level < 15 && <SmallButton onPress={leave}>Leave</SmallButton>}
		</span>
	);
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

const LEVEL_VALUES = [1, 8, 15] as const;

/** The members of an organization (docs/organizations.md#members). */
export default function Members() {
	const { at } = useOrganization();
	const [{ search, order, level, is_2fa_enabled }] = useQuery();
	const filters = {
		search,
		order,
		level: LEVEL_VALUES.find((one) => String(one) === level),
		is_2fa_enabled: is_2fa_enabled ? is_2fa_enabled === "true" : undefined,
	};
	const [changing, setChanging] = useState<Member>();
	const list = useList(
		(page, signal) => api.members.list({ ...at, ...page, ...filters }, { signal }),
		[at.organization, ...Object.values(filters)],
	);
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
				columns={columnsOf({ onChange: setChanging, reload: list.reload })}
				notFound="No member matches the search and the filters."
			/>
			{changing && (
				<ChangeLevel
					member={changing}
					onClose={() => setChanging(undefined)}
					onChanged={() => {
						setChanging(undefined);
						list.reload();
					}}
				/>
			)}
		</People>
	);
}

function ChangeLevel({
	member,
	onClose,
	onChanged,
}: {
	member: Member;
	onClose: () => void;
	onChanged: () => void;
}) {
	const { at } = useOrganization();
	const name = nameOf(member.user);
	/** The level that the dialog has shown to the user. */
	const [known, setKnown] = useState(member.level);
	return (
		<FormDialog
			title={`Change the level of ${name}`}
			action="Change level"
			onClose={onClose}
			onSubmit={async (fields) => {
				const level = levelIn(text(fields, "level"));
				if (level !== known) {
					// Members come from a list, so they have no ETag.
					const { email } = member.user;
					const current = (await api.members.list({ ...at, email })).results[0]?.level;
					if (current !== undefined && current !== known) {
						setKnown(current);
						throw new Error(
							`Someone else has changed the level of ${name} to ${levelName(current).toLowerCase()}. Choose again, or cancel.`,
						);
					}
					await api.members.update({ ...at, user: member.user.uuid }, { level });
					say(`The level of ${name} is now ${levelName(level).toLowerCase()}.`);
				}
				onChanged();
			}}
		>
			{member.level >= 15 && (
				<p>An owner can't be removed. To remove {name}, first choose another level.</p>
			)}
			<LevelChoice chosen={member.level} />
		</FormDialog>
	);
}
