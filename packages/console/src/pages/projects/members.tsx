import { useState } from "preact/hooks";
import type { Member, Project, ProjectMember } from "tenantry-client";
import { has, useLoad, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SecondaryButton, SmallButton } from "../../ui/button.tsx";
import { useDelay } from "../../ui/delay.ts";
import { confirm } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { Choice, Field, FormDialog, Group, rejection, text } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, levelName, nameOf, Person, Time } from "../../ui/values.tsx";

/** The URL parameter for the offset of this list. */
const OFFSET = "members_offset";

async function remove({ user }: ProjectMember, project: Project, onDone: () => void) {
	const isSure = await confirm({
		title: `Remove ${nameOf(user)} from ${project.name}?`,
		text: project.access_control
			? "This person can no longer see the project, unless they are an admin of the organization."
			: "This person loses their level in the project, but can still see it, like everyone in the organization.",
		action: "Remove from project",
	});
	if (!isSure) return;
	await api.projectMembers.remove({ project: project.id, user: user.uuid });
	say(`${nameOf(user)} was removed from the project.`);
	onDone();
}

const columnsOf = (hrefOf: (uuid: string) => string | undefined): Column<ProjectMember>[] => [
	{
		title: "Name",
		value: ({ user }) => nameOf(user),
		cell: ({ user }) => <Person user={user} href={hrefOf(user.uuid)} />,
	},
	{
		title: "Level in the project",
		value: ({ level }) => levelName(level),
		cell: ({ level }) => <Badge>{levelName(level)}</Badge>,
	},
	{
		title: "Added",
		value: ({ joined_at }) => joined_at,
		cell: ({ joined_at }) => <Time value={joined_at} isRelative />,
	},
];

const actionsOf = (
	project: Project,
	{ reload, onChange }: { reload: () => void; onChange: (member: ProjectMember) => void },
) =>
	buttons((member: ProjectMember) => (
		<span class="row-actions">
			<SmallButton
				aria-label={`Change level of ${nameOf(member.user)}`}
				onPress={() => onChange(member)}
			>
				Change level
			</SmallButton>
			<SmallButton
				aria-label={`Remove ${nameOf(member.user)}`}
				onPress={() => remove(member, project, reload)}
			>
				Remove
			</SmallButton>
		</span>
	));

export function ProjectMembers({ project, mayChange }: { project: Project; mayChange: boolean }) {
	const { seesMembers, to } = useOrganization();
	const columns = columnsOf((uuid) => (seesMembers ? to(`members/${uuid}`) : undefined));
	const [isAdding, setAdding] = useState(false);
	const [changing, setChanging] = useState<ProjectMember>();
	const [{ people: search = "" }] = useQuery();
	const list = useSorted(
		(range, options) => api.projectMembers.list({ project: project.id, ...range }, options),
		[project.id, search],
		{
			columns,
			name: `people-of-project-${project.id}`,
			matches: search ? ({ user }) => has(`${user.first_name} ${user.email}`, search) : undefined,
			parameter: OFFSET,
		},
	);

	return (
		<Section
			title="People"
			id="people"
			actions={
				mayChange && <SecondaryButton onPress={() => setAdding(true)}>Add person</SecondaryButton>
			}
		>
			<p class="quiet">
				{project.access_control
					? "Only admins of the organization and the people below can see this project."
					: "Everyone in the organization can see this project. The people below have their own level in it."}
			</p>
			<Filters>
				<Search name="people" label="Search people" offset={OFFSET} />
			</Filters>
			<Table
				list={list}
				label="People"
				columns={
					mayChange
						? [...columns, actionsOf(project, { reload: list.reload, onChange: setChanging })]
						: columns
				}
				notFound={search && `No one in this list has “${search}” in their name or email address.`}
				empty={
					<Empty title="No people added">
						{project.access_control
							? "Only admins of the organization can see this project."
							: "Add people to let them manage this project without being admins of the organization."}
					</Empty>
				}
			/>
			{changing && (
				<ChangeLevel
					project={project}
					member={changing}
					onClose={() => {
						setChanging(undefined);
						list.reload();
					}}
				/>
			)}
			{isAdding && (
				<AddPerson
					project={project}
					onClose={() => setAdding(false)}
					onAdded={() => {
						setAdding(false);
						list.reload();
					}}
				/>
			)}
		</Section>
	);
}

/**
 * Returns the member with this email address.
 * @throws {TenantryError} if there is none
 */
export async function memberWith(at: { organization: string }, email: string): Promise<Member> {
	const [member] = (await api.members.list({ ...at, email })).results;
	if (member) return member;
	throw rejection(
		"user_uuid",
		"No member of the organization has this email address. Invite this person first.",
	);
}

/** A field for a member's email address, which searches members while the user types. */
export function MemberField() {
	const { at } = useOrganization();
	const [search, setSearch] = useState("");
	const { delay } = useDelay();
	const found = useLoad(
		(signal) => api.members.list({ ...at, search, limit: 20 }, { signal }),
		[search],
	);
	return (
		<>
			<Field
				name="user_uuid"
				label="Email address of a member"
				hint="Type part of a name or email address, then choose from the list."
				type="text"
				inputMode="email"
				list="members-found"
				required
				spellcheck={false}
				onInput={({ currentTarget: { value } }) => delay(() => setSearch(value))}
			/>
			<datalist id="members-found">
				{found.data?.results.map(({ id, user }) => (
					<option key={id} value={user.email}>
						{nameOf(user)}
					</option>
				))}
			</datalist>
		</>
	);
}

/** The choice of a level in the project. */
const Levels = ({ chosen }: { chosen: number }) => (
	<Group label="Level in the project">
		<Choice
			name="level"
			value="1"
			label="Member"
			hint="Can see the project and work with it."
			defaultChecked={chosen === 1}
		/>
		<Choice
			name="level"
			value="8"
			label="Admin"
			hint="Can also change the project, and add and remove people."
			defaultChecked={chosen === 8}
		/>
	</Group>
);

const levelIn = (fields: FormData): ProjectMember["level"] =>
	text(fields, "level") === "8" ? 8 : 1;

function ChangeLevel({
	project,
	member: { user, level },
	onClose,
}: {
	project: Project;
	member: ProjectMember;
	onClose: () => void;
}) {
	const name = nameOf(user);
	return (
		<FormDialog
			title={`Change the level of ${name}`}
			action="Change level"
			onClose={onClose}
			onSubmit={async (fields) => {
				const to = levelIn(fields);
				await api.projectMembers.update({ project: project.id, user: user.uuid }, { level: to });
				say(`The level of ${name} in ${project.name} is now ${levelName(to).toLowerCase()}.`);
				onClose();
			}}
		>
			<Levels chosen={level} />
		</FormDialog>
	);
}

function AddPerson({
	project,
	onClose,
	onAdded,
}: {
	project: Project;
	onClose: () => void;
	onAdded: () => void;
}) {
	const { at } = useOrganization();
	return (
		<FormDialog
			title={`Add person to ${project.name}`}
			action="Add person"
			onClose={onClose}
			onSubmit={async (fields) => {
				const { user } = await memberWith(at, text(fields, "user_uuid"));
				const body = { user_uuid: user.uuid, level: levelIn(fields) };
				await api.projectMembers.add({ project: project.id }, body);
				say(`${nameOf(user)} was added to the project.`);
				onAdded();
			}}
		>
			<MemberField />
			<Levels chosen={1} />
		</FormDialog>
	);
}
