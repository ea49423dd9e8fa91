import { useState } from "preact/hooks";
import { useRoute } from "preact-iso/router";
import type { Role, RoleMember } from "tenantry-client";
import { useList, useLoad, useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button, SecondaryButton, SmallButton } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { FormDialog, text } from "../../ui/form.tsx";
import { LoadedPage, PageView, Section } from "../../ui/page.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, nameOf, Person } from "../../ui/values.tsx";
import { MemberField, memberWith } from "../projects/members.tsx";
import { Controls } from "./controls.tsx";
import { RoleFields, roleIn } from "./roles.tsx";

/** A row of the table of members. */
type Row = RoleMember & { id: string };

function RoleMembers({ role }: { role: Role }) {
	const { at, isAdmin, organization, to } = useOrganization();
	const [isAdding, setAdding] = useState(false);
	const list = useList(
		async (page, signal) => {
			const found = await api.roleMembers.list({ ...at, ...page, id: role.id }, { signal });
			return { ...found, results: found.results.map((row) => ({ ...row, id: row.user.uuid })) };
		},
		[organization.id, role.id],
	);
	async function remove({ user }: RoleMember) {
		const isSure = await confirm({
			title: `Take the role ${role.name} from ${nameOf(user)}?`,
			text: "What only this role gave ends with the next request.",
			action: "Take away",
		});
		if (!isSure) return;
		await api.roleMembers.remove({ ...at, id: role.id, user: user.uuid });
		say(`${nameOf(user)} no longer has the role.`);
		list.reload();
	}
	const columns: Column<Row>[] = [
		{
			title: "Name",
			cell: ({ user }) => (
				<Person
					user={user}
					href={to(
						`${user.email.endsWith(".invalid") ? "service_accounts" : "members"}/${user.uuid}`,
					)}
				/>
			),
		},
		{
			title: "Given",
			cell: ({ created_at }) => (created_at ? "By an admin" : <Badge>By a group of SCIM</Badge>),
		},
		...(isAdmin
			? [
					buttons<Row>(
						(row) =>
							row.created_at !== null && (
								<SmallButton
									aria-label={`Take away the role of ${nameOf(row.user)}`}
									onPress={() => remove(row)}
								>
									Take away
								</SmallButton>
							),
					),
				]
			: []),
	];
	return (
		<Section
			title="Members"
			actions={
				isAdmin && <SecondaryButton onPress={() => setAdding(true)}>Add member</SecondaryButton>
			}
		>
			<Table
				list={list}
				label="Members of the role"
				columns={columns}
				empty={<p class="quiet">Nobody has this role yet.</p>}
			/>
			{isAdding && (
				<FormDialog
					title={`Give the role ${role.name}`}
					action="Add member"
					onClose={() => setAdding(false)}
					onSubmit={async (fields) => {
						const { user } = await memberWith(at, text(fields, "user_uuid"));
						await api.roleMembers.add({ ...at, id: role.id }, { member: user.uuid });
						say(`${nameOf(user)} has the role ${role.name}.`);
						setAdding(false);
						list.reload();
					}}
				>
					<MemberField />
				</FormDialog>
			)}
		</Section>
	);
}

function Edit({ role, reload }: { role: Role; reload: () => Promise<unknown> }) {
	const { at } = useOrganization();
	const [isOpen, setOpen] = useState(false);
	const { save, dialog } = useSave<Role, ReturnType<typeof roleIn>>({
		read: () => api.roles.get({ ...at, id: role.id }),
		update: (role, changes) => api.roles.update({ ...at, ...role }, changes),
		onSaved: async ({ name }) => {
			await reload();
			setOpen(false);
			say(`${name} is saved.`);
		},
		labels: { name: "Name", description: "What it is for" },
	});
	return (
		<>
			<SecondaryButton onPress={() => setOpen(true)}>Edit</SecondaryButton>
			{isOpen && (
				<FormDialog
					title={`Edit ${role.name}`}
					action="Save"
					onClose={() => setOpen(false)}
					onSubmit={(fields) => save(role, roleIn(fields))}
				>
					<RoleFields role={role} />
				</FormDialog>
			)}
			{dialog}
		</>
	);
}

function Loaded({ role, reload }: { role: Role; reload: () => Promise<unknown> }) {
	const { at, isAdmin, to } = useOrganization();
	const navigate = useNavigate();
	async function remove() {
		const isSure = await confirm({
			title: `Delete the role ${role.name}?`,
			text: `What only this role gives its ${role.members} members ends immediately.`,
			action: "Delete role",
		});
		if (!isSure) return;
		await api.roles.delete({ ...at, id: role.id });
		navigate(to("members/roles"));
		say(`The role ${role.name} is deleted.`);
	}
	return (
		<PageView
			title={role.name}
			state={role.is_built_in && <Badge>Built in</Badge>}
			above={[
				[to("members"), "Members"],
				[to("members/roles"), "Roles"],
			]}
			lead={role.description}
			actions={
				isAdmin &&
				!role.is_built_in && (
					<>
						<Edit role={role} reload={reload} />
						<Button class="danger" onPress={remove}>
							Delete
						</Button>
					</>
				)
			}
		>
			<RoleMembers role={role} />
			{role.is_built_in ? (
				<Section title="Access given">
					<p class="quiet">
						Its members can view everything, also private projects, and change nothing.
					</p>
				</Section>
			) : (
				<Controls about={{ role }} lead="What this role gives its members." />
			)}
		</PageView>
	);
}

/** The page of a role: who has it, and what it gives (docs/access.md#roles). */
export default function RolePage() {
	const { at, organization, to } = useOrganization();
	const { role = "" } = useRoute().params;
	const loaded = useLoad(
		(signal) => api.roles.get({ ...at, id: role }, { signal }),
		[organization.id, role],
	);
	return (
		<LoadedPage of={loaded} title="Role" above={[[to("members/roles"), "Roles"]]}>
			{(role) => <Loaded role={role} reload={loaded.reload} />}
		</LoadedPage>
	);
}
