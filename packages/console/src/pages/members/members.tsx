import { useState } from "preact/hooks";
import type { Member } from "tenantry-client";
import { useQuery } from "../../load.ts";
import { useLeave, useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { PlainButton, SmallButton } from "../../ui/button.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { hourAfter } from "../../ui/moments.ts";
import { RowMenu } from "../../ui/row_menu.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, LEVELS, levelName, Person, Time } from "../../ui/values.tsx";
import { ChangeLevel, isMe, personOf, useRights } from "./member_actions.tsx";
import { levelIn, People } from "./parts.tsx";
import { ResetFactor } from "./reset_factor.tsx";
import { SignInAccounts } from "./sign_in_accounts.tsx";

/** The filter for members who weren't active. */
const INACTIVE_DAYS = 90;

function TwoFactor({ member }: { member: Member }) {
	const { organization } = useOrganization();
	if (member.is_2fa_enabled) return <Badge mood="good">On</Badge>;
	return organization.enforce_2fa ? <Badge mood="warn">Off</Badge> : <>Off</>;
}

type Changes = {
	onChange: (members: Member[]) => void;
	onAccounts: (member: Member) => void;
	onReset: (member: Member) => void;
	reload: () => void;
};

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

const columnsOf = (
	changes: Changes,
	hrefOf: (member: Member) => string | undefined,
	seesActivity: boolean,
): Column<Member>[] => [
	{
		title: "Name",
		value: personOf,
		cell: (member) => (
			<Person user={member.user} href={hrefOf(member)}>
				{isMe(member) && <Badge>You</Badge>}
			</Person>
		),
	},
	{
		title: "Level",
		value: ({ level }) => level,
		cell: ({ level }) => <Badge>{levelName(level)}</Badge>,
	},
	{
		title: "Two-factor",
		value: ({ is_2fa_enabled }) => (is_2fa_enabled ? "On" : "Off"),
		cell: (member) => <TwoFactor member={member} />,
	},
	{
		title: "Joined",
		value: ({ joined_at }) => joined_at,
		cell: ({ joined_at }) => <Time value={joined_at} isRelative />,
	},
	...(seesActivity
		? [
				{
					title: "Last active",
					value: ({ last_active_at }: Member) => last_active_at ?? null,
					cell: ({ last_active_at }: Member) =>
						last_active_at ? <Time value={last_active_at} isRelative /> : "Never",
				},
			]
		: []),
	buttons((member) => <Actions member={member} {...changes} />),
];

/** The members of an organization (docs/organizations.md#members). */
export default function Members() {
	const { at, isAdmin, seesMembers, to } = useOrganization();
	const [{ search, order, level, is_2fa_enabled, activity }] = useQuery();
	const filters = {
		search,
		order,
		level: level ? levelIn(level) : undefined,
		is_2fa_enabled: is_2fa_enabled ? is_2fa_enabled === "true" : undefined,
		inactive_since: seesMembers && activity === "none" ? hourAfter(-INACTIVE_DAYS) : undefined,
		include_last_active: seesMembers || undefined,
	};
	const [changing, setChanging] = useState<Member[]>();
	const [shown, setShown] = useState<Member>();
	const [resetting, setResetting] = useState<Member>();
	const columns = columnsOf(
		{
			onChange: setChanging,
			onAccounts: setShown,
			onReset: setResetting,
			reload: () => list.reload(),
		},
		({ user }) => (seesMembers ? to(`members/${user.uuid}`) : undefined),
		seesMembers,
	);
	const list = useSorted(
		(range, options) => api.members.list({ ...at, ...range, ...filters }, options),
		[at.organization, ...Object.values(filters)],
		{ columns, name: "members" },
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
				{seesMembers && (
					<Filter
						name="activity"
						label="Activity"
						options={[
							["", "Active or not"],
							["none", `Not active for ${INACTIVE_DAYS} days`],
						]}
					/>
				)}
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
				columns={columns}
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
