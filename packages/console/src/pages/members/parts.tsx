import type { ComponentChildren } from "preact";
import { useOrganization } from "../../organization.tsx";
import { LinkButton } from "../../ui/button.tsx";
import { Choice, Group } from "../../ui/form.tsx";
import { PageView, Tabs } from "../../ui/page.tsx";
import { LEVELS } from "../../ui/values.tsx";

export function People({
	current,
	lead,
	actions,
	children,
}: {
	current: "members" | "members/invites" | "members/roles" | "members/review";
	lead?: ComponentChildren;
	/** The buttons of this view, beside the one that invites people. */
	actions?: ComponentChildren;
	children: ComponentChildren;
}) {
	const { seesMembers, to } = useOrganization();
	return (
		<PageView
			title="Members"
			lead={lead}
			actions={
				<>
					{actions}
					<LinkButton href={to("members/invite")}>Invite people</LinkButton>
				</>
			}
		>
			<Tabs
				label="About members"
				current={to(current)}
				tabs={[
					[to("members"), "Members"],
					[to("members/invites"), "Invites"],
					...(seesMembers
						? ([
								[to("members/roles"), "Roles"],
								[to("members/review"), "Access review"],
							] as const)
						: []),
				]}
			/>
			{children}
		</PageView>
	);
}

/** The rights of each level (docs/organizations.md#levels). */
const MAY: Record<string, string> = {
	1: "Can work with exports and plugins in accessible projects, and invite members.",
	8: "Can also access all projects, and manage members, projects, domains and webhooks.",
	15: "Can also add owners, and delete projects and the organization.",
};

export function LevelChoice({
	chosen,
	onChange,
}: {
	chosen: number;
	onChange?: (level: number) => void;
}) {
	const { organization } = useOrganization();
	return (
		<Group label="Level">
			{LEVELS.filter(([level]) => Number(level) <= organization.membership_level).map(
				([level, name]) => (
					<Choice
						key={level}
						name="level"
						value={level}
						label={name}
						hint={MAY[level]}
						defaultChecked={Number(level) === chosen}
						onChange={() => onChange?.(Number(level))}
					/>
				),
			)}
		</Group>
	);
}

/** Returns the value of `LevelChoice`. */
export function levelIn(text: string): 1 | 8 | 15 {
	return text === "15" ? 15 : text === "8" ? 8 : 1;
}
