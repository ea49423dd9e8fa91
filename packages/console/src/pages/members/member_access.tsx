import type { MemberAccess, MemberDetails } from "tenantry-client";
import { useList } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { levelWords, RESOURCES, reasonOf } from "../../ui/access_words.ts";
import { Section } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, nameOf } from "../../ui/values.tsx";
import { Controls } from "./controls.tsx";

/** A row of the table: the access to something. */
type Row = MemberAccess & { id: string };

function Subject({ row: { resource, resource_id } }: { row: Row }) {
	const { organization, to } = useOrganization();
	const { words, one, path } = RESOURCES[resource];
	if (resource_id === null) return <strong>{words}</strong>;
	const project = organization.teams.find(({ id }) => String(id) === resource_id);
	const name = resource === "project" && project ? project.name : `One ${one}`;
	return path ? <a href={to(`${path}/${resource_id}`)}>{name}</a> : <span>{name}</span>;
}

const COLUMNS: Column<Row>[] = [
	{ title: "What", cell: (row) => <Subject row={row} /> },
	{ title: "Access", cell: ({ access_level }) => <Badge>{levelWords(access_level)}</Badge> },
	{ title: "Why", cell: (row) => reasonOf(row) },
];

/** What a member may do, and why (docs/access.md#who-can-see-this). */
export default function MemberAccessTab({ details }: { details: MemberDetails }) {
	const { at, organization } = useOrganization();
	const { uuid } = details;
	const list = useList(
		async (page, signal) => {
			const found = await api.access.explain({ ...at, ...page, member: uuid }, { signal });
			return {
				...found,
				results: found.results.map((row) => ({
					...row,
					id: `${row.resource} ${row.resource_id ?? ""}`,
				})),
			};
		},
		[organization.id, uuid],
	);
	return (
		<>
			<Section title="Access">
				<Table list={list} label="Access" columns={COLUMNS} />
			</Section>
			{(details.level ?? 0) < 8 && (
				<Controls
					about={{ member: { uuid, name: nameOf(details) } }}
					lead="Access that was given to this member alone, besides their roles."
				/>
			)}
		</>
	);
}
