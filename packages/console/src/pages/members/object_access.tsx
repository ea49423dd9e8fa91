import { useRoute } from "preact-iso/router";
import type { MemberAccess } from "tenantry-client";
import { useList } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import {
	isResource,
	levelWords,
	RESOURCES,
	type Resource,
	reasonOf,
} from "../../ui/access_words.ts";
import { PageView, Section } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Person } from "../../ui/values.tsx";
import { Controls } from "./controls.tsx";

/** A row of the table: a member's access. */
type Row = MemberAccess & { id: string };

function Who({ resource, object }: { resource: Resource; object: string }) {
	const { at, organization, to } = useOrganization();
	const list = useList(
		async (page, signal) => {
			const asked = { ...at, ...page, resource, resource_id: object };
			const found = await api.access.explain(asked, { signal });
			return {
				...found,
				results: found.results.map((row) => ({ ...row, id: row.member.uuid })),
			};
		},
		[organization.id, resource, object],
	);
	const columns: Column<Row>[] = [
		{
			title: "Name",
			cell: ({ member }) => (
				<Person
					user={member}
					href={to(
						`${member.email.endsWith(".invalid") ? "service_accounts" : "members"}/${member.uuid}`,
					)}
				/>
			),
		},
		{ title: "Access", cell: ({ access_level }) => <Badge>{levelWords(access_level)}</Badge> },
		{ title: "Why", cell: (row) => reasonOf(row) },
	];
	return (
		<Section title="Who can see it">
			<Table list={list} label="Who can see it" columns={columns} />
		</Section>
	);
}

/** Who can see an object, and why (docs/access.md#who-can-see-this). */
export default function ObjectAccess() {
	const { to } = useOrganization();
	const { resource = "", object = "" } = useRoute().params;
	if (!isResource(resource)) return null;
	const { words, one, path } = RESOURCES[resource];
	return (
		<PageView
			title="Who can see this?"
			above={[
				[to(path), words],
				[to(`${path}/${object}`), `This ${one}`],
			]}
		>
			<Who resource={resource} object={object} />
			<Controls
				about={{ resource, object }}
				lead={`Access to this ${one} alone. It comes before access to all ${words.toLowerCase()}.`}
			/>
		</PageView>
	);
}
