import type { BatchExport } from "tenantry-client";
import { has, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, ProjectFilter, Search } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { placeOf, TYPES, wordsOfType } from "./destinations.ts";
import {
	EXPORT_FILTER,
	ExportState,
	failureOf,
	INTERVALS,
	Squares,
	stateOf,
	windows,
	wordsOfInterval,
	wordsOfModel,
} from "./states.tsx";

type Filtered = Record<"search" | "state" | "type" | "interval", string | undefined>;

const matches = (of: BatchExport, { search = "", state, type, interval }: Filtered) =>
	has(of.name, search) &&
	(!state || stateOf(of) === state) &&
	(!type || of.destination.type === type) &&
	(!interval || of.interval === interval);

function Failure({ of }: { of: BatchExport }) {
	const failure = of.undelivered ?? failureOf(of);
	if (!failure) return null;
	return (
		<small class="below failure">
			{of.undelivered && `${windows(of.undelivered.windows)} not delivered: `}
			{failure.latest_error}
		</small>
	);
}

type Projects = readonly { id: number; name: string }[];

function columnsOf(projects: Projects, to: (path: string) => string): Column<BatchExport>[] {
	const nameOf = (id: number) => projects.find((one) => one.id === id)?.name ?? `Project ${id}`;
	return [
		{
			title: "Name",
			value: ({ name }) => name,
			cell: (of) => (
				<>
					<a href={to(`batch_exports/${of.id}`)}>
						<strong>{of.name}</strong>
					</a>
					<small class="below">
						{wordsOfModel(of.model)} of {nameOf(of.team_id)}
					</small>
					<Failure of={of} />
				</>
			),
		},
		{ title: "State", cell: (of) => <ExportState of={of} /> },
		{
			title: "Destination",
			value: ({ destination }) => `${wordsOfType(destination.type)} ${placeOf(destination) ?? ""}`,
			cell: ({ destination }) => (
				<span>
					{wordsOfType(destination.type)}
					<small class="below">{placeOf(destination)}</small>
				</span>
			),
		},
		{
			title: "Interval",
			value: ({ interval }) => wordsOfInterval(interval),
			cell: ({ interval }) => <span class="nowrap">{wordsOfInterval(interval)}</span>,
		},
		{ title: "Runs", cell: (of) => <Squares of={of} path={to(`batch_exports/${of.id}`)} /> },
	];
}

const ListFilters = ({ projects }: { projects: Projects }) => (
	<Filters>
		<Search label="Search by name" />
		<Filter name="state" label="State" options={EXPORT_FILTER} />
		<Filter name="type" label="Destination" options={[["", "All destinations"], ...TYPES]} />
		<Filter name="interval" label="Interval" options={[["", "All intervals"], ...INTERVALS]} />
		<ProjectFilter projects={projects} />
	</Filters>
);

/** The exports of an organization (docs/console.md#batch-exports). */
export default function BatchExports() {
	const { at, organization, to } = useOrganization();
	const [{ project, search, state, type, interval }] = useQuery();
	const filters = { search, state, type, interval };
	const isFiltered = Object.values(filters).some(Boolean);
	const projects = organization.teams;
	const columns = columnsOf(projects, to);
	const list = useSorted(
		(range, options) =>
			project
				? api.projectBatchExports.list({ project, ...range }, options)
				: api.batchExports.list({ ...at, ...range }, options),
		[organization.id, project, ...Object.values(filters)],
		{
			columns,
			name: "batch-exports",
			matches: isFiltered ? (of) => matches(of, filters) : undefined,
		},
	);
	return (
		<PageView
			title="Batch exports"
			lead="A batch export regularly writes the events or persons of a project to a bucket, a database or an HTTP receiver."
			actions={<LinkButton href={to("batch_exports/new")}>New export</LinkButton>}
		>
			<ListFilters projects={projects} />
			<Table
				list={list}
				label="Batch exports"
				columns={columns}
				notFound={(isFiltered || project) && "Change or remove the filters."}
				empty={
					<Empty title="No exports yet">
						<p>Create an export to get the events of a project to where you need them.</p>
						<LinkButton href={to("batch_exports/new")}>New export</LinkButton>
					</Empty>
				}
			/>
		</PageView>
	);
}
