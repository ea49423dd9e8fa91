import type { ComponentChildren } from "preact";
import { useOrganization } from "../../organization.tsx";
import { Choice, Group } from "../../ui/form.tsx";
import { PageView, Tabs } from "../../ui/page.tsx";
import { LEVELS } from "../../ui/values.tsx";

/** The members, and the invites that nobody has accepted yet. */
export function People({
	current,
	lead,
	children,
}: {
	current: "members" | "members/invites";
	lead?: ComponentChildren;
	children: ComponentChildren;
}) {
	const { to } = useOrganization();
	return (
		<PageView
			title="Members"
			lead={lead}
			actions={
				<a class="button" href={to("members/invite")}>
					Invite people
				</a>
			}
		>
			<Tabs
				label="Members and invites"
				current={to(current)}
				tabs={[
					[to("members"), "Members"],
					[to("members/invites"), "Invites"],
				]}
			/>
			{children}
		</PageView>
	);
}

/** What each level may do (docs/organizations.md#levels). */
const MAY: Record<string, string> = {
	1: "Works with the exports and plugins of the projects they see, and invites other members.",
	8: "Sees every project. Manages members, projects, domains and webhooks, too.",
	15: "Makes other owners, and may delete projects and the organization, too.",
};

/** The choice of a level; nobody can give one above their own. */
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

/** The level that a form's `LevelChoice` has. */
export function levelIn(text: string) {
	return text === "15" ? 15 : text === "8" ? 8 : 1;
}
