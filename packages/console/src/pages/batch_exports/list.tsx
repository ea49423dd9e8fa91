import { useState } from "preact/hooks";
import lazy from "preact-iso/lazy";
import type { BatchExport } from "tenantry-client";
import { has, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { LinkButton, SecondaryButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, ProjectFilter, Search } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Count, Time } from "../../ui/values.tsx";
import { placeOf, TYPES, wordsOfType } from "./destinations.ts";
import {
	EXPORT_FILTER,
	ExportState,
	failureOf,
	INTERVALS,
	RunState,
	Squares,
	sayWindow,
	stateOf,
	windows,
	wordsOfInterval,
	wordsOfModel,
} from "./states.tsx";

const Once = lazy(() => import("./once.tsx"));

const KINDS = [
	["", "With a schedule"],
	["once", "One-off exports"],
] as const;

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

/** The columns of one-off exports, which lead to their run. */
const columnsOfOnce = (to: (path: string) => string): Column<BatchExport>[] => [
	{
		title: "Name",
		value: ({ name }) => name,
		cell: ({ id, name, model, latest_runs: [run] }) => (
			<>
				<a href={to(`batch_exports/${id}/runs/${run?.id}`)}>
					<strong>{run ? sayWindow(run) : name}</strong>
				</a>
				<small class="below">{wordsOfModel(model)}</small>
			</>
		),
	},
	{
		title: "State",
		cell: ({ latest_runs: [run] }) => run && <RunState status={run.status} />,
	},
	{
		title: "Rows",
		align: "end",
		value: ({ latest_runs: [run] }) => run?.records_completed ?? 0,
		cell: ({ latest_runs: [run] }) => run && <Count value={run.records_completed} />,
	},
	{
		title: "Deleted",
		value: ({ expires_at }) => expires_at,
		cell: ({ expires_at }) => <Time value={expires_at} isRelative />,
	},
];

const ListFilters = ({ projects, one_off }: { projects: Projects; one_off: boolean }) => (
	<Filters>
		{!one_off && (
			<>
				<Search label="Search by name" />
				<Filter name="state" label="State" options={EXPORT_FILTER} />
				<Filter name="type" label="Destination" options={[["", "All destinations"], ...TYPES]} />
				<Filter name="interval" label="Interval" options={[["", "All intervals"], ...INTERVALS]} />
			</>
		)}
		<Filter name="kind" label="Kind" options={KINDS} />
		<ProjectFilter projects={projects} />
	</Filters>
);

/** The exports of an organization (docs/console.md#batch-exports). */
export default function BatchExports() {
	const { at, organization, to } = useOrganization();
	const [{ project, search, state, type, interval, kind }] = useQuery();
	const [isExporting, setExporting] = useState(false);
	/** Filters of the others that are still in the URL don't apply to one-off exports. */
	const one_off = kind === "once";
	const filters = { search, state, type, interval };
	const isFiltered = !one_off && Object.values(filters).some(Boolean);
	const projects = organization.teams;
	const columns = one_off ? columnsOfOnce(to) : columnsOf(projects, to);
	const list = useSorted(
		(range, options) =>
			project
				? api.projectBatchExports.list({ project, one_off, ...range }, options)
				: api.batchExports.list({ ...at, one_off, ...range }, options),
		[organization.id, project, kind, ...Object.values(filters)],
		{
			columns,
			name: one_off ? "one-off-exports" : "batch-exports",
			matches: isFiltered ? (of) => matches(of, filters) : undefined,
		},
	);
	return (
		<PageView
			title="Batch exports"
			lead="A batch export regularly writes the events or persons of a project to a bucket, a database or an HTTP receiver."
			actions={
				<>
					<SecondaryButton onPress={() => setExporting(true)}>Export once…</SecondaryButton>
					<LinkButton href={to("batch_exports/new")}>New export</LinkButton>
				</>
			}
		>
			<ListFilters projects={projects} one_off={one_off} />
			<Table
				list={list}
				label="Batch exports"
				columns={columns}
				notFound={(isFiltered || project || one_off) && "Change or remove the filters."}
				empty={
					<Empty title="No exports yet">
						<p>Create an export to get the events of a project to where you need them.</p>
						<LinkButton href={to("batch_exports/new")}>New export</LinkButton>
					</Empty>
				}
			/>
			{isExporting && <Once onClose={() => setExporting(false)} />}
		</PageView>
	);
}
