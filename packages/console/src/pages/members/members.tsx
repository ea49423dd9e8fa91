import type { Member } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Empty } from "../../ui/feedback.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, levelName, Time } from "../../ui/values.tsx";

const columns: Column<Member>[] = [
	{
		title: "Name",
		cell: ({ user }) => (
			<>
				<strong>{`${user.first_name} ${user.last_name}`.trim() || user.email}</strong>
				<small class="below">{user.email}</small>
			</>
		),
	},
	{ title: "Level", cell: ({ level }) => <Badge>{levelName(level)}</Badge> },
	{ title: "Joined", cell: ({ joined_at }) => <Time value={joined_at} /> },
];

/** The members of an organization. */
export default function Members() {
	const { organization } = useOrganization();
	const [{ search }] = useQuery();
	const list = useList(
		(page, signal) =>
			api.members.list({ organization: organization.id, ...page, search }, { signal }),
		[organization.id, search],
	);
	return (
		<PageView title="Members">
			<Filters>
				<Search label="Search members" />
			</Filters>
			<Table
				list={list}
				label="Members"
				columns={columns}
				id={({ id }) => id}
				empty={
					<Empty title="Nobody found">
						<p>No member's name or address contains “{search}”.</p>
					</Empty>
				}
			/>
		</PageView>
	);
}
