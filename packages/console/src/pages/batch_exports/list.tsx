import type { BatchExport } from "tenantry-client";
import { filtered, has, useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, ProjectFilter, Search } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
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
			cell: ({ destination }) => (
				<span>
					{wordsOfType(destination.type)}
					<small class="below">{placeOf(destination)}</small>
				</span>
			),
		},
		{
			title: "Interval",
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
	const list = useList(
		(page, signal) =>
			filtered(
				(range) =>
					project
						? api.projectBatchExports.list({ project, ...range }, { signal })
						: api.batchExports.list({ ...at, ...range }, { signal }),
				page,
				isFiltered ? (of) => matches(of, filters) : undefined,
			),
		[organization.id, project, ...Object.values(filters)],
	);
	const projects = organization.teams;
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
				columns={columnsOf(projects, to)}
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
