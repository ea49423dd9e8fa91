import { useState } from "preact/hooks";
import type { Project } from "tenantry-client";
import { useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Empty } from "../../ui/feedback.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Copy, Time } from "../../ui/values.tsx";
import { ProjectFields, valuesIn } from "./fields.tsx";

const columnsOf = (to: (path: string) => string): Column<Project>[] => [
	{
		title: "Name",
		value: ({ name }) => name,
		cell: ({ id, name }) => <a href={to(`projects/${id}`)}>{name}</a>,
	},
	{
		title: "Visibility",
		value: ({ access_control }) => (access_control ? "Private" : "Everyone"),
		cell: ({ access_control }) =>
			access_control ? <Badge>Private</Badge> : <span class="whole-words">Everyone</span>,
	},
	{ title: "Time zone", value: ({ timezone }) => timezone, cell: ({ timezone }) => timezone },
	{
		title: "Created",
		value: ({ created_at }) => created_at,
		cell: ({ created_at }) => <Time value={created_at} isRelative />,
	},
	{
		title: "ID",
		value: ({ id }) => id,
		align: "end",
		cell: ({ id, name }) => (
			<span class="row-actions">
				<code>{id}</code> <Copy value={String(id)} what={`the ID of ${name}`} />
			</span>
		),
	},
];

/** The projects of an organization that the user can see (docs/organizations.md#projects). */
export default function Projects() {
	const { at, isAdmin, reloadOrganization, to } = useOrganization();
	const navigate = useNavigate();
	const [isCreating, setCreating] = useState(false);
	const [{ search }] = useQuery();
	const columns = columnsOf(to);
	const list = useSorted(
		(range, options) => api.organizationProjects.list({ ...at, ...range, search }, options),
		[at.organization, search],
		{ columns, name: "projects" },
	);
	return (
		<PageView
			title="Projects"
			lead="A project has its own events, exports and plugins."
			actions={
				isAdmin && (
					<button type="button" onClick={() => setCreating(true)}>
						Create project
					</button>
				)
			}
		>
			<Filters>
				<Search label="Search projects" />
			</Filters>
			<Table
				list={list}
				label="Projects"
				columns={columns}
				notFound={search && `No project that you can see has “${search}” in its name.`}
				empty={
					<Empty title="No projects">
						{isAdmin
							? "Create a project to send events to."
							: "Ask an admin of the organization to add you to a project."}
					</Empty>
				}
			/>
			{isCreating && (
				<FormDialog
					title="Create project"
					action="Create project"
					onClose={() => setCreating(false)}
					onSubmit={async (fields) => {
						const { id } = await api.organizationProjects.create(at, valuesIn(fields));
						reloadOrganization();
						navigate(to(`projects/${id}`));
					}}
				>
					<ProjectFields />
				</FormDialog>
			)}
		</PageView>
	);
}
