import { useState } from "preact/hooks";
import type { Role } from "tenantry-client";
import { has, useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { Area, Field, FormDialog, text } from "../../ui/form.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Count } from "../../ui/values.tsx";
import { People } from "./parts.tsx";

/** The fields of a role. */
export const RoleFields = ({ role }: { role?: Role }) => (
	<>
		<Field
			name="name"
			label="Name"
			required
			maxLength={64}
			defaultValue={role?.name ?? ""}
			hint="Such as Data team."
		/>
		<Area
			name="description"
			label="What it is for"
			rows={2}
			defaultValue={role?.description ?? ""}
		/>
	</>
);

export const roleIn = (fields: FormData) => ({
	name: text(fields, "name"),
	description: text(fields, "description"),
});

/** The roles of an organization (docs/access.md#roles). */
export default function Roles() {
	const { at, isAdmin, organization, to } = useOrganization();
	const [isNew, setNew] = useState(false);
	const navigate = useNavigate();
	const [{ search }] = useQuery();
	const columns: Column<Role>[] = [
		{
			title: "Name",
			value: ({ name }) => name,
			cell: ({ id, name, description, is_built_in }) => (
				<>
					<a href={to(`members/roles/${id}`)}>
						<strong>{name}</strong>
					</a>{" "}
					{is_built_in && <Badge>Built in</Badge>}
					{description && <small class="below">{description}</small>}
				</>
			),
		},
		{
			title: "Members",
			value: ({ members }) => members,
			cell: ({ members }) => <Count value={members} />,
			align: "end",
		},
	];
	const list = useSorted(
		(range, options) => api.roles.list({ ...at, ...range }, options),
		[organization.id, search],
		{
			columns,
			name: "roles",
			matches: search
				? ({ name, description }) => has(`${name} ${description}`, search)
				: undefined,
		},
	);
	return (
		<People
			current="members/roles"
			lead="A role gives its members the same access. Admins and owners can do everything without one."
			actions={isAdmin && <SecondaryButton onPress={() => setNew(true)}>New role</SecondaryButton>}
		>
			<Filters>
				<Search label="Search roles" />
			</Filters>
			<Table
				list={list}
				label="Roles"
				columns={columns}
				notFound={search && `No role has “${search}” in its name or description.`}
			/>
			{isNew && (
				<FormDialog
					title="New role"
					action="Create role"
					onClose={() => setNew(false)}
					onSubmit={async (fields) => {
						const { id } = await api.roles.create(at, roleIn(fields));
						navigate(to(`members/roles/${id}`));
					}}
				>
					<RoleFields />
				</FormDialog>
			)}
		</People>
	);
}
